import { recordPayload } from '../../engine/redact/record-payload.ts'
import { StepError } from '../../engine/language/step-error.ts'
import type { StepContext } from '../../engine/model/step.ts'
import { toText } from '../../engine/language/values.ts'
import { isHeaderValue } from '../../platform/outbound/header-rules.ts'
import { parseJson } from '../../platform/parse-json.ts'
import { isSensitiveName } from '../../platform/security/sensitive-name.ts'
import type { Http } from './http.ts'

const BODY_BYTES_MAX = 1024 * 1024
const KEY_LENGTH_MAX = 255

/** A call with every placeholder filled in; names of headers are in small letters. */
export type HttpRequest = {
  method: Http['method']
  url: string
  headers: Record<string, string>
  body: string | null
  /** Null if the step leaves it to us. */
  idempotencyKey: string | null
}

/** @throws StepError when what the placeholders come to cannot be sent */
export function composeRequest(config: Http, turn: StepContext): HttpRequest {
  const { type, body } = bodyOf(config, turn)
  const headers = Object.entries(config.headers ?? {}).map(([name, value]) => [
    name.toLowerCase(),
    turn.text(value).trim(),
  ])
  const key = config.idempotencyKey === undefined ? null : turn.text(config.idempotencyKey).trim()
  const request = {
    method: config.method,
    url: urlOf(config, turn),
    headers: { ...(type === null ? {} : { 'content-type': type }), ...Object.fromEntries(headers) },
    body,
    idempotencyKey: key || null,
  }
  refuseUnsendable(request)
  return request
}

/** What may be shown of it. */
export function toRecord({ method, url, headers, body, idempotencyKey }: HttpRequest): unknown {
  const shown = new URL(url)
  if (shown.password) shown.password = '[redacted]'
  for (const name of new Set(shown.searchParams.keys())) {
    if (isSensitiveName(name)) shown.searchParams.set(name, '[redacted]')
  }
  const isJson = body !== null && headers['content-type']?.includes('json')
  const sent = body === null ? {} : isJson ? { json: jsonOrText(body) } : { text: body }
  const key = idempotencyKey === null ? {} : { idempotencyKey }
  return recordPayload({ method, url: shown.href, headers, ...sent, ...key }, [])
}

function jsonOrText(text: string): unknown {
  const read = parseJson(text)
  return read === undefined ? text : read
}

function urlOf({ url, query = {} }: Http, turn: StepContext): string {
  const filled = turn.text(url).trim()
  if (!URL.canParse(filled))
    throw new StepError('invalid_url', 'With its placeholders filled in, the URL cannot be read', FINAL)
  const parsed = new URL(filled)
  for (const [name, template] of Object.entries(query)) {
    const value = turn.resolve(template)
    // A list is given as often as it is long; what is not there is not given.
    for (const one of [value].flat())
      if (one !== null && one !== undefined) parsed.searchParams.append(name, toText(one))
  }
  return parsed.href
}

function bodyOf({ json, text }: Http, turn: StepContext): { type: string | null; body: string | null } {
  if (json !== undefined) return { type: 'application/json', body: JSON.stringify(turn.resolve(json)) }
  if (text !== undefined) return { type: 'text/plain; charset=utf-8', body: turn.text(text) }
  return { type: null, body: null }
}

function refuseUnsendable({ headers, body, idempotencyKey }: HttpRequest): void {
  const wrong = Object.entries(headers).find(([, value]) => !isHeaderValue(value))
  if (wrong) {
    throw new StepError(
      'invalid_header',
      `The value of header "${wrong[0]}" has a line break, or characters that no header can carry`,
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
    throw new StepError('request_too_large', 'What is to be sent is larger than 1 MB', FINAL)
  }
}

const FINAL = { retryable: false }
