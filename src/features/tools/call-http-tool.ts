import type { JsonObject } from '../../engine/model/run.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { toText } from '../../engine/language/values.ts'
import type { Tool as ToolRow } from '../../models/automation/tool.ts'
import { findMismatchTask } from '../../platform/json-schema.ts'
import { fetchPublic, type PublicResponse } from '../../platform/outbound/fetch-public.ts'
import { isReservedHeader } from '../../platform/outbound/header-rules.ts'
import { parseJson } from '../../platform/parse-json.ts'
import { isSensitiveName } from '../../platform/security/sensitive-name.ts'
import type { Scope } from '../../scope.ts'
import { openHeaders } from './tool-headers.ts'

type Call = { input: JsonObject; key: string; timeoutMs: number; signal: AbortSignal }

const BYTES_MAX = 1_048_576
/** Shorter words of a header, such as its scheme, stand in any answer. */
const SECRET_LENGTH_MIN = 8

/**
 * A tool of the workspace: the input goes along as JSON, or in the query where a request has no body; what comes back is
 * JSON of the shape that the tool promises.
 */
export async function callHttpTool(scope: Scope, row: ToolRow, { input, ...call }: Call): Promise<unknown> {
  const { name, config, outputSchema } = row
  const { method } = config
  const hasBody = method !== 'GET' && method !== 'DELETE'
  const headers = openHeaders(scope, row)
  const answer = await send(scope, {
    ...call,
    method,
    url: hasBody ? config.url : withQuery(config.url, input),
    headers,
    sealedHeaders: Object.keys(headers).map((header) => header.toLowerCase()),
    body: hasBody ? JSON.stringify(input) : null,
  })
  refuseBadStatus(name, answer.status)
  const told = withoutSecrets(answer.body, headers)
  const output = told.trim() === '' ? {} : parseJson(told)
  const mismatch =
    output === undefined
      ? 'output is no JSON'
      : await scope.compute(findMismatchTask, { schema: outputSchema, value: output, name: 'output' })
  if (mismatch) throw new StepError('invalid_tool_output', `The tool "${name}": ${mismatch}`, { retryable: false })
  return output
}

/** `http.request`: any public address, and its answer as it comes. */
export async function requestHttp(scope: Scope, { input, ...call }: Call): Promise<unknown> {
  const { url, method = 'GET', headers = {}, json } = input
  const answer = await send(scope, {
    ...call,
    method: toText(method),
    url: toText(url),
    headers: Object.fromEntries(Object.entries(Object(headers)).map(([name, value]) => [name, toText(value)])),
    body: json === undefined ? null : JSON.stringify(json),
  })
  const read = parseJson(answer.body)
  return { status: answer.status, ...(read === undefined ? { text: answer.body } : { json: read }) }
}

type Sending = Omit<Call, 'input'> & {
  method: string
  url: string
  headers: Record<string, string>
  sealedHeaders?: string[]
  body: string | null
}

function send(scope: Scope, { key, signal, headers, ...request }: Sending): Promise<PublicResponse> {
  const own = Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), value])
  const all = {
    accept: 'application/json',
    ...(request.body === null ? {} : { 'content-type': 'application/json' }),
    'idempotency-key': key,
    ...Object.fromEntries(own.filter(([name]) => !isReservedHeader(name))),
  }
  return fetchPublic({ ...request, headers: all, bytesMax: BYTES_MAX, allowsLoopback: scope.allowsLoopback }, signal)
}

/** A tool may quote the keys that it was called with; what it answers is read by whoever may read runs. */
function withoutSecrets(body: string, headers: Record<string, string>): string {
  const secrets = Object.entries(headers).flatMap(([name, value]) => (isSensitiveName(name) ? value.split(' ') : []))
  return secrets
    .filter(({ length }) => length >= SECRET_LENGTH_MIN)
    .map((secret) => JSON.stringify(secret).slice(1, -1))
    .reduce((left, secret) => left.replaceAll(secret, '[redacted]'), body)
}

function withQuery(base: string, input: JsonObject): string {
  const url = new URL(base)
  for (const [name, value] of Object.entries(input)) {
    if (value !== null && value !== undefined) url.searchParams.append(name, toText(value))
  }
  return url.href
}

function refuseBadStatus(name: string, status: number): void {
  if (status >= 200 && status < 300) return
  const retryable = status >= 500 || status === 429 || status === 408
  throw new StepError('tool_failed', `The tool "${name}" answered with status ${status}`, { retryable })
}
