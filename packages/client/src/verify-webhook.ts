import type { ParleyEvent, RouterOutputs } from './client.ts'
import type { EventResources } from './server.ts'

/** JSON of a value: times are texts. */
type Json<T> = T extends Date ? string : T extends object ? { [Key in keyof T]: Json<T[Key]> } : T

type Resources = {
  contact: RouterOutputs['contacts']['get']
  message: RouterOutputs['messages']['get']
  conversation: RouterOutputs['conversations']['get']
  run: Omit<RouterOutputs['runs']['get'], 'input' | 'output' | 'variables'>
  broadcast: RouterOutputs['broadcasts']['get']
  template: RouterOutputs['templates']['get']
  workflow: RouterOutputs['workflows']['get']
  channel: RouterOutputs['channels']['list']['items'][number]
}

type ResourceOf<Type extends keyof EventResources> = EventResources[Type] extends keyof Resources
  ? Json<Resources[EventResources[Type]]> | null
  : null

/** The body of a webhook. `switch (event.type)` narrows `data` and `resource`. A later version may have further types. */
export type ParleyWebhookEvent = {
  [Type in ParleyEvent['type']]: {
    type: Type
    timestamp: string
    id: string
    /** The position of the event in the workspace; null in a test of the endpoint. */
    sequence: number | null
    workspaceId: string
    data: Extract<ParleyEvent, { type: Type }>['data']
    /** The object that the event is about, as the API returns it; missing for an endpoint that gets IDs only. */
    resource?: ResourceOf<Type>
    /** The data of a custom event. */
    payload?: Record<string, unknown> | null
  }
}[ParleyEvent['type']]

/** Headers of a request, as frameworks have them: of `fetch`, of Node.js, or a plain object. */
export type WebhookHeaders = HeaderReader | { [name: string]: string | readonly string[] | undefined }

type HeaderReader = { get(name: string): string | null }

/** The reason for which a webhook is refused. */
export type WebhookProblem =
  'invalid_secret' | 'missing_header' | 'invalid_timestamp' | 'too_old' | 'too_new' | 'wrong_signature' | 'invalid_body'

export class WebhookVerificationError extends Error {
  override name = 'WebhookVerificationError'
  readonly problem: WebhookProblem

  constructor(problem: WebhookProblem, message: string) {
    super(message)
    this.problem = problem
  }
}

const TOLERANCE_SECONDS = 300
const PREFIX = 'whsec_'
/** Signatures that are compared at most: a caller who is not known decides how many there are. */
const SIGNATURES_MAX = 20

/**
 * Verifies a webhook of Standard Webhooks and returns its event. The body is that of the request, as text or bytes, before
 * it is parsed. During the rotation of a secret pass both, in any order.
 * @throws WebhookVerificationError, whose `problem` says why
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceSeconds = TOLERANCE_SECONDS }: { toleranceSeconds?: number } = {},
): Promise<ParleyWebhookEvent> {
  const keys = await Promise.all((typeof secrets === 'string' ? [secrets] : secrets).map(importKey))
  const id = getHeader(headers, 'webhook-id')
  const timestamp = getHeader(headers, 'webhook-timestamp')
  const signatures = getHeader(headers, 'webhook-signature')
  assertRecent(timestamp, toleranceSeconds)
  const bytes = typeof rawBody === 'string' ? new TextEncoder().encode(rawBody) : rawBody
  const content = concat(new TextEncoder().encode(`${id}.${timestamp}.`), bytes)
  const given = signatures
    .split(' ')
    .filter((text) => text.startsWith('v1,'))
    .slice(0, SIGNATURES_MAX)
    .flatMap((text) => decodeBase64(text.slice('v1,'.length)) ?? [])
  const pairs = keys.flatMap((key) => given.map((signature) => crypto.subtle.verify('HMAC', key, signature, content)))
  if (!(await Promise.all(pairs)).includes(true)) {
    throw new WebhookVerificationError(
      'wrong_signature',
      'No signature is that of the body with one of the secrets. Pass the body as it came, and the secret of this endpoint',
    )
  }
  return parse(bytes)
}

function importKey(secret: string) {
  const bytes = decodeBase64(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : '')
  if (!bytes?.length) {
    const message = 'A secret must be `whsec_` and base64, as the creation of the endpoint returned it'
    throw new WebhookVerificationError('invalid_secret', message)
  }
  // WebCrypto verifies in constant time.
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
}

function getHeader(headers: WebhookHeaders, name: string): string {
  const value = isReader(headers)
    ? headers.get(name)
    : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  const text = Array.isArray(value) ? value.join(' ') : value
  if (typeof text === 'string' && text !== '') return text
  throw new WebhookVerificationError(
    'missing_header',
    `The request has no header ${name}, so it is no webhook of Parley`,
  )
}

function isReader(headers: WebhookHeaders): headers is HeaderReader {
  return typeof headers.get === 'function'
}

function assertRecent(timestamp: string, toleranceSeconds: number): void {
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookVerificationError('invalid_timestamp', 'webhook-timestamp must be a number of seconds')
  }
  const ageSeconds = Date.now() / 1000 - Number(timestamp)
  if (ageSeconds > toleranceSeconds) {
    throw new WebhookVerificationError('too_old', `The webhook was signed more than ${toleranceSeconds} seconds ago`)
  }
  if (ageSeconds < -toleranceSeconds) {
    const message = `The webhook was signed more than ${toleranceSeconds} seconds in the future. Check the clock`
    throw new WebhookVerificationError('too_new', message)
  }
}

function parse(bytes: Uint8Array): ParleyWebhookEvent {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as ParleyWebhookEvent
  } catch {
    throw new WebhookVerificationError('invalid_body', 'The body is no JSON, though it is signed')
  }
}

function concat(first: Uint8Array, second: Uint8Array) {
  const bytes = new Uint8Array(first.length + second.length)
  bytes.set(first)
  bytes.set(second, first.length)
  return bytes
}

function decodeBase64(text: string) {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
