import { z } from 'zod'
import { templateText } from '../../engine/language/definition/names.ts'
import { defineStep, type StepFailure, type StepContext } from '../../engine/model/step.ts'
import { getField } from '../../platform/fields.ts'
import { headerNameError, isHeaderValue } from '../../platform/outbound/header-rules.ts'
import { urlError } from '../../platform/outbound/check-url.ts'
import { recordPayload } from '../../engine/redact/record-payload.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { toText } from '../../engine/language/values.ts'
import { parseJson } from '../../platform/parse-json.ts'
import { REDACTED } from '../../platform/security/redact-texts.ts'
import { isSensitiveName } from '../../platform/security/sensitive-name.ts'

function urlFor(rules: { allowsLoopback: boolean }) {
  return z
    .string()
    .min(1, 'must not be empty')
    .max(8192)
    .superRefine((text, issues) => {
      const error = urlError(text, rules)
      if (!error) return
      issues.addIssue({ code: 'custom', message: error.message, params: { code: error.code } })
    })
}

const Headers = z.record(z.string(), z.string().max(8192)).superRefine((headers, issues) => {
  const seen = new Set<string>()
  for (const name of Object.keys(headers)) {
    const error = headerNameError(name) ?? (seen.has(name.toLowerCase()) ? 'is a duplicate' : undefined)
    seen.add(name.toLowerCase())
    if (error) issues.addIssue({ code: 'custom', path: [name], message: error, params: { code: 'invalid_header' } })
  }
})

function fieldsFor(rules: { allowsLoopback: boolean }) {
  return z
    .strictObject({
      method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET'),
      url: urlFor(rules),
      headers: Headers.optional(),
      query: z.record(z.string(), z.unknown()).optional(),
      json: z.unknown().optional(),
      text: templateText.optional(),
      credentialId: z.guid('must be the ID of a credential').optional(),
      idempotencyKey: templateText.optional(),
      failOn: z.enum(['network', '5xx', '4xx_5xx']).default('4xx_5xx'),
    })
    .refine(({ json, text }) => json === undefined || text === undefined, {
      message: 'cannot be combined with json: leave one of them out',
      path: ['text'],
    })
    .refine(({ method, json, text }) => method !== 'GET' || (json === undefined && text === undefined), {
      message: 'must be POST, PUT, PATCH or DELETE for a request with a body',
      path: ['method'],
    })
}
export type Http = z.output<ReturnType<typeof fieldsFor>>

const HTTP_OUTPUT = { status: null, headers: null, json: null, text: null }
export type HttpOutput = Record<keyof typeof HTTP_OUTPUT, unknown>

/** Calls a URL and continues with the response. */
const behaviour: Omit<Parameters<typeof defineStep<ReturnType<typeof fieldsFor>>>[0], 'schema'> = {
  type: 'http',
  awaits: 'result',
  literal: ['method', 'failOn', 'credentialId'],
  output: () => HTTP_OUTPUT,
  execute(config, context) {
    const request = composeRequest(config, context)
    return { kind: 'external', request: { type: 'http', ...request }, input: toRecord(request) }
  },
  resume({ failOn }, _context, wakeup) {
    if (wakeup.type !== 'external_result') return { kind: 'ignore' }
    if (!wakeup.result.ok) return { kind: 'fail', error: wakeup.result.error }
    const { output } = wakeup.result
    const error = statusFailure(output, failOn)
    return error ? { kind: 'fail', error } : { kind: 'next', output }
  },
}

export const http = defineStep({ ...behaviour, schema: fieldsFor({ allowsLoopback: false }) })

/** The step where calls to this machine are allowed. */
export const httpWithLoopback = defineStep({ ...behaviour, schema: fieldsFor({ allowsLoopback: true }) })

/** Client errors that may be temporary. */
const TEMPORARY = new Set([408, 425, 429])

function statusFailure(output: unknown, failOn: Http['failOn']): StepFailure | undefined {
  const status = getField(output, 'status')
  if (typeof status !== 'number' || failOn === 'network') return undefined
  if (status < (failOn === '5xx' ? 500 : 400)) return undefined
  const retryable = status >= 500 || TEMPORARY.has(status)
  return { code: 'http_status', message: `The response has status ${status}`, retryable }
}

const BODY_BYTES_MAX = 1024 * 1024
const KEY_LENGTH_MAX = 255

/** An HTTP request with its placeholders filled in; header names are in lower case. */
type HttpRequest = {
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
function composeRequest(config: Http, context: StepContext): HttpRequest {
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
function toRecord({ method, url, headers, body, credentialId, idempotencyKey }: HttpRequest): unknown {
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
