import { z } from 'zod'
import type { Tool as ToolRow, ToolConfig } from '../../models/automation.ts'
import { InvalidError } from '../../platform/errors.ts'
import { REDACTED } from '../../platform/security/redact-texts.ts'
import type { Scope } from '../../scope/scope.ts'

const Headers = z.record(z.string(), z.string())
type Headers = z.infer<typeof Headers>

/** Context that binds sealed headers to their row. */
export function sealContext(tenantId: string, toolId: string): string {
  return `tool:${tenantId}:${toolId}`
}

/** Returns the headers with their values; those of a row without sealed headers are in its config. */
export function openHeaders(scope: Scope, { id, config, sealedHeaders }: ToolRow): Headers {
  if (!sealedHeaders) return config.headers ?? {}
  return Headers.parse(scope.secrets.open(sealedHeaders, sealContext(scope.tenantId, id)))
}

/** Columns that store a config: the names of headers are readable, their values are sealed. */
export function sealConfig(scope: Scope, id: string, config: ToolConfig): Pick<ToolRow, 'config' | 'sealedHeaders'> {
  const headers = config.headers ?? {}
  const isEmpty = Object.keys(headers).length === 0
  return {
    config: redactConfig(config),
    sealedHeaders: isEmpty ? null : scope.secrets.seal(headers, sealContext(scope.tenantId, id)),
  }
}

/** Replaces header values for responses. */
export function redactConfig({ headers, ...config }: ToolConfig): ToolConfig {
  if (!headers) return config
  return { ...config, headers: Object.fromEntries(Object.keys(headers).map((name) => [name, REDACTED])) }
}

/**
 * Fills in the stored values of redacted headers. They are only kept for the same origin: otherwise, an admin who
 * does not know the values could send them to another host.
 * @throws InvalidError
 */
export function keepHeaders(config: ToolConfig, stored?: { url: string; headers: Headers }): ToolConfig {
  if (!config.headers) return config
  const isSameOrigin = stored !== undefined && new URL(stored.url).origin === new URL(config.url).origin
  const known = isSameOrigin ? stored.headers : {}
  const headers = Object.entries(config.headers).map(([name, value]): [string, string] => {
    if (value !== REDACTED) return [name, value]
    const storedValue = Object.hasOwn(known, name) ? known[name] : undefined
    if (storedValue !== undefined) return [name, storedValue]
    const message = stored ? 'is required, because the header is new or the URL has another host' : 'is required'
    throw new InvalidError(`config.headers.${name} ${message}`, [{ path: `config.headers.${name}`, message }])
  })
  return { ...config, headers: Object.fromEntries(headers) }
}
