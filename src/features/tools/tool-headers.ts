import type { Tool as ToolRow, ToolConfig } from '../../models/automation/tool.ts'
import { InvalidError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'

type Headers = Record<string, string>

/** What stands for a header's value wherever it may be read. Given back, it means the value that is there. */
const REDACTED = '[redacted]'

/** What binds sealed headers to their row. */
function sealContext(tenantId: string, toolId: string): string {
  return `tool:${tenantId}:${toolId}`
}

/** A row that was never written since headers are sealed still has them in its config. */
export function openHeaders(scope: Scope, { id, config, sealedHeaders }: ToolRow): Headers {
  if (!sealedHeaders) return config.headers ?? {}
  // Only headers are ever sealed under this context.
  return scope.secrets.open(sealedHeaders, sealContext(scope.tenantId, id)) as Headers
}

/** The columns that keep a config: names of headers may be read, their values may not. */
export function sealConfig(scope: Scope, id: string, config: ToolConfig): Pick<ToolRow, 'config' | 'sealedHeaders'> {
  const headers = config.headers ?? {}
  const isEmpty = Object.keys(headers).length === 0
  return {
    config: redactConfig(config),
    sealedHeaders: isEmpty ? null : scope.secrets.seal(headers, sealContext(scope.tenantId, id)),
  }
}

export function redactConfig({ headers, ...config }: ToolConfig): ToolConfig {
  if (!headers) return config
  return { ...config, headers: Object.fromEntries(Object.keys(headers).map((name) => [name, REDACTED])) }
}

/**
 * The config with the values in place that stay as they are. They open on their way to a host: whoever moves the address
 * to another must know them.
 * @throws InvalidError
 */
export function keepHeaders(config: ToolConfig, before?: { url: string; headers: Headers }): ToolConfig {
  if (!config.headers) return config
  const isSameHost = before !== undefined && new URL(before.url).origin === new URL(config.url).origin
  const known = isSameHost ? before.headers : {}
  const headers = Object.entries(config.headers).map(([name, value]): [string, string] => {
    if (value !== REDACTED) return [name, value]
    const kept = Object.hasOwn(known, name) ? known[name] : undefined
    if (kept !== undefined) return [name, kept]
    const message = before ? 'must be given again: it is new, or the address is another host' : 'must be given'
    throw new InvalidError(`config.headers.${name} ${message}`, [{ path: `config.headers.${name}`, message }])
  })
  return { ...config, headers: Object.fromEntries(headers) }
}
