import type { JsonObject } from '../../engine/model/run.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { toText } from '../../engine/language/values.ts'
import type { Tool as ToolRow } from '../../models/automation.ts'
import { findMismatchTask } from '../../platform/json-schema.ts'
import { fetchPublic, type PublicResponse } from '../../platform/outbound/fetch-public.ts'
import { isReservedHeader } from '../../platform/outbound/header-rules.ts'
import { parseJson } from '../../platform/parse-json.ts'
import { redactTexts } from '../../platform/security/redact-texts.ts'
import { isSensitiveName } from '../../platform/security/sensitive-name.ts'
import type { Scope } from '../../scope/scope.ts'
import { applyCredential } from '../credentials/apply-credential.ts'
import { openHeaders } from './tool-headers.ts'

type Call = { input: JsonObject; key: string; timeoutMs: number; signal: AbortSignal }

const BYTES_MAX = 1_048_576
/** Shorter parts of a header, such as its scheme, occur in any response. */
const SECRET_LENGTH_MIN = 8

/**
 * Calls an HTTP tool of the workspace. The input is sent as JSON, or in the query string of a request without a body; the
 * response must be JSON that matches the output schema of the tool.
 */
export async function callHttpTool(scope: Scope, row: ToolRow, { input, ...call }: Call): Promise<unknown> {
  const { name, config, outputSchema } = row
  const { method } = config
  const hasBody = method !== 'GET' && method !== 'DELETE'
  const headers = openHeaders(scope, row)
  const url = hasBody ? config.url : withQuery(config.url, input)
  const { redact, ...request } = await applyCredential(scope, config.credentialId, { url, headers })
  const response = await send(scope, {
    ...call,
    ...request,
    method,
    sealedHeaders: Object.keys(request.headers).map((header) => header.toLowerCase()),
    body: hasBody ? JSON.stringify(input) : null,
  })
  assertSuccess(name, response.status)
  const { body } = response
  const output = redactTexts(redact(body.trim() === '' ? {} : parseJson(body)), listSecrets(headers))
  const mismatch =
    output === undefined
      ? 'output is not JSON'
      : await scope.compute(findMismatchTask, { schema: outputSchema, value: output, name: 'output' })
  if (mismatch) throw new StepError('invalid_tool_output', `The tool "${name}": ${mismatch}`, { retryable: false })
  return output
}

/** Executes `http.request`: sends a request to any public URL and returns the response unchecked. */
export async function requestHttp(scope: Scope, { input, ...call }: Call): Promise<unknown> {
  const { url, method = 'GET', headers = {}, json } = input
  const response = await send(scope, {
    ...call,
    method: toText(method),
    url: toText(url),
    headers: Object.fromEntries(Object.entries(Object(headers)).map(([name, value]) => [name, toText(value)])),
    body: json === undefined ? null : JSON.stringify(json),
  })
  const parsed = parseJson(response.body)
  return { status: response.status, ...(parsed === undefined ? { text: response.body } : { json: parsed }) }
}

type HttpRequest = Omit<Call, 'input'> & {
  method: string
  url: string
  headers: Record<string, string>
  sealedHeaders?: string[]
  sealedParameters?: string[]
  body: string | null
}

function send(scope: Scope, { key, signal, headers, ...request }: HttpRequest): Promise<PublicResponse> {
  const custom = Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), value])
  const allHeaders = {
    accept: 'application/json',
    ...(request.body === null ? {} : { 'content-type': 'application/json' }),
    'idempotency-key': key,
    ...Object.fromEntries(custom.filter(([name]) => !isReservedHeader(name))),
  }
  return fetchPublic(
    { ...request, headers: allHeaders, bytesMax: BYTES_MAX, allowsLoopback: scope.allowsLoopback },
    signal,
  )
}

/** Lists the secrets in headers that an earlier version stored; secrets of today are in credentials. */
function listSecrets(headers: Record<string, string>): string[] {
  return Object.entries(headers)
    .flatMap(([name, value]) => (isSensitiveName(name) ? value.split(' ') : []))
    .filter(({ length }) => length >= SECRET_LENGTH_MIN)
}

function withQuery(base: string, input: JsonObject): string {
  const url = new URL(base)
  for (const [name, value] of Object.entries(input)) {
    if (value !== null && value !== undefined) url.searchParams.append(name, toText(value))
  }
  return url.href
}

function assertSuccess(name: string, status: number): void {
  if (status >= 200 && status < 300) return
  const retryable = status >= 500 || status === 429 || status === 408
  throw new StepError('tool_failed', `The tool "${name}" responded with status ${status}`, { retryable })
}
