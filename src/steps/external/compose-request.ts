import { recordPayload } from '../../engine/redact/record-payload.ts'
import { StepError } from '../../engine/language/step-error.ts'
import type { StepContext } from '../../engine/model/step.ts'
import { toText } from '../../engine/language/values.ts'
import { isHeaderValue } from '../../platform/outbound/header-rules.ts'
import { parseJson } from '../../platform/parse-json.ts'
import { REDACTED } from '../../platform/security/redact-texts.ts'
import { isSensitiveName } from '../../platform/security/sensitive-name.ts'
import type { Http } from './http.ts'

const BODY_BYTES_MAX = 1024 * 1024
const KEY_LENGTH_MAX = 255

/** An HTTP request with its placeholders filled in; header names are in lower case. */
export type HttpRequest = {
  method: Http['method']
  url: string
  headers: Record<string, string>
  body: string | null
  /** The credential that the executor adds; null for none. */
  credentialId: string | null
  /** Null if the executor chooses one. */
  idempotencyKey: string | null
}

/** @throws StepError if the request cannot be sent once its placeholders are filled in */
export function composeRequest(config: Http, context: StepContext): HttpRequest {
  const { type, body } = composeBody(config, context)
  const headers = Object.entries(config.headers ?? {}).map(([name, value]) => [
    name.toLowerCase(),
    context.text(value).trim(),
  ])
  const key = config.idempotencyKey === undefined ? null : context.text(config.idempotencyKey).trim()
  const request = {
    method: config.method,
    url: composeUrl(config, context),
    headers: { ...(type === null ? {} : { 'content-type': type }), ...Object.fromEntries(headers) },
    body,
    credentialId: config.credentialId ?? null,
    idempotencyKey: key || null,
  }
  assertSendable(request)
  return request
}

/** Redacts a request for the step's record. */
export function toRecord({ method, url, headers, body, credentialId, idempotencyKey }: HttpRequest): unknown {
  const redacted = new URL(url)
  if (redacted.password) redacted.password = REDACTED
  for (const name of new Set(redacted.searchParams.keys())) {
    if (isSensitiveName(name)) redacted.searchParams.set(name, REDACTED)
  }
  const isJson = body !== null && headers['content-type']?.includes('json')
  const content = body === null ? {} : isJson ? { json: jsonOrText(body) } : { text: body }
  const key = idempotencyKey === null ? {} : { idempotencyKey }
  const credential = credentialId === null ? {} : { credentialId }
  return recordPayload({ method, url: redacted.href, headers, ...content, ...credential, ...key }, [])
}

function jsonOrText(text: string): unknown {
  const parsed = parseJson(text)
  return parsed === undefined ? text : parsed
}

function composeUrl({ url, query = {} }: Http, context: StepContext): string {
  const filled = context.text(url).trim()
  if (!URL.canParse(filled))
    throw new StepError('invalid_url', 'With its placeholders filled in, the URL is not valid', FINAL)
  const parsed = new URL(filled)
  for (const [name, template] of Object.entries(query)) {
    const value = context.resolve(template)
    // A list becomes one parameter per entry; a missing value becomes none.
    for (const one of [value].flat())
      if (one !== null && one !== undefined) parsed.searchParams.append(name, toText(one))
  }
  return parsed.href
}

function composeBody({ json, text }: Http, context: StepContext): { type: string | null; body: string | null } {
  if (json !== undefined) return { type: 'application/json', body: JSON.stringify(context.resolve(json)) }
  if (text !== undefined) return { type: 'text/plain; charset=utf-8', body: context.text(text) }
  return { type: null, body: null }
}

function assertSendable({ headers, body, idempotencyKey }: HttpRequest): void {
  const invalid = Object.entries(headers).find(([, value]) => !isHeaderValue(value))
  if (invalid) {
    throw new StepError(
      'invalid_header',
      `The value of header "${invalid[0]}" has a line break or characters that are not allowed in headers`,
      FINAL,
    )
  }
  if (idempotencyKey !== null && (!isHeaderValue(idempotencyKey) || idempotencyKey.length > KEY_LENGTH_MAX)) {
    throw new StepError(
      'invalid_header',
      `The idempotency key must be one line of at most ${KEY_LENGTH_MAX} characters`,
      FINAL,
    )
  }
  if (body !== null && Buffer.byteLength(body) > BODY_BYTES_MAX) {
    throw new StepError('request_too_large', 'The request body is larger than 1 MB', FINAL)
  }
}

const FINAL = { retryable: false }
