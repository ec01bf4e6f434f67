import type { DeliveryAttempt, EventData, WebhookEndpoint as EndpointRow } from '../../models/automation.ts'
import { OutboundError } from '../../platform/outbound/outbound-error.ts'
import { PublicPoster } from '../../platform/outbound/post-public.ts'
import { addMs, HOUR, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { type Contents, toResourceKey } from './resources.ts'
import { toPayloadField } from '../events/payloads.ts'
import { openSigningKeys, signDelivery } from './signatures.ts'

export const ANSWER_MAX_MS = 15 * SECOND
/** A larger body is sent without its resource: an event is to be read at once. */
const BODY_BYTES_MAX = 256 * 1024
const RETRY_AFTER_MAX_MS = HOUR
/** Statuses with which a receiver asks for a pause. */
const BUSY = new Set([429, 502, 503, 504])
const GONE = 410

/** An event that is sent. `position` is null for a test. */
export type SentEvent = {
  eventId: string
  type: string
  data: EventData
  position: number | null
  eventAt: Date
}

/** The body of an event, and the contact that its content is about, if any. */
export type RenderedEvent = { body: string; contactId: string | null }

/** The result of one attempt. `pausedUntil` is the time that the receiver has asked to wait for. */
export type Sent = { attempt: DeliveryAttempt; isDelivered: boolean; isGone: boolean; pausedUntil: Date | null }

/** Builds the body of an event from what `loadContents` has found. */
export function renderEvent(
  { tenantId, payload }: Pick<EndpointRow, 'tenantId' | 'payload'>,
  event: SentEvent,
  { resources, payloads }: Contents,
): RenderedEvent {
  const { eventId: id, type, data, position: sequence, eventAt } = event
  const thin = { type, timestamp: eventAt.toISOString(), id, sequence, workspaceId: tenantId, data }
  if (payload === 'thin') return { body: JSON.stringify(thin), contactId: null }
  const withPayload = { ...thin, ...toPayloadField({ id, type }, payloads) }
  const ownContactId = withPayload.payload ? (data['contactId'] ?? null) : null
  const resource = resources.get(toResourceKey(event) ?? '')
  const body = JSON.stringify({ ...withPayload, resource: resource?.value ?? null })
  return Buffer.byteLength(body) <= BODY_BYTES_MAX
    ? { body, contactId: resource?.contactId ?? ownContactId }
    : { body: JSON.stringify({ ...withPayload, resource: null }), contactId: ownContactId }
}

/** Sends events to an endpoint over connections that are kept until it is closed. */
export class EventSender {
  readonly #scope: Scope
  readonly #poster: PublicPoster
  #keys: Buffer[] = []

  /** Sends are cut off when the signal aborts. */
  constructor(scope: Scope, endpoint: EndpointRow, signal?: AbortSignal) {
    this.#scope = scope
    // A secret that cannot be read must leave no poster, which listens to the signal.
    this.signAs(endpoint)
    const { allowsLoopback } = scope
    this.#poster = new PublicPoster({ url: endpoint.url, timeoutMs: ANSWER_MAX_MS, allowsLoopback }, signal)
  }

  /** Signs from now on with the secrets of the endpoint as it is now. */
  signAs(endpoint: EndpointRow): void {
    this.#keys = openSigningKeys(this.#scope.secrets, endpoint, this.#scope.now())
  }

  async send({ eventId }: Pick<SentEvent, 'eventId'>, body: string): Promise<Sent> {
    const at = this.#scope.now()
    const startedMs = performance.now()
    const { statusCode, retryAfter, ...result } = await this.#post(eventId, body, at)
    const durationMs = Math.round(performance.now() - startedMs)
    const isDelivered = statusCode !== null && statusCode >= 200 && statusCode < 300
    const error = isDelivered ? null : (result.error ?? 'unexpected_status')
    return {
      attempt: { at: at.toISOString(), statusCode, error, durationMs },
      isDelivered,
      isGone: statusCode === GONE,
      pausedUntil: statusCode !== null && BUSY.has(statusCode) ? parseRetryAfter(retryAfter, this.#scope.now()) : null,
    }
  }

  async close(): Promise<void> {
    await this.#poster.close()
  }

  async #post(id: string, body: string, now: Date) {
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Parley',
      ...signDelivery(this.#keys, { id, body, now }),
    }
    try {
      // It may have been entered when loopback addresses were allowed.
      if (!this.#scope.allowsLoopback && !this.#poster.url.startsWith('https:')) {
        throw new OutboundError('invalid_url', 'The URL must start with https://')
      }
      const { status, retryAfter } = await this.#poster.post(headers, body)
      return { statusCode: status, retryAfter, error: undefined }
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      return { statusCode: null, retryAfter: undefined, error: error.code }
    }
  }
}

/** Reads a number of seconds, or a date. Null for any other text; a long pause is shortened. */
function parseRetryAfter(text: string | undefined, now: Date): Date | null {
  if (text === undefined || text.length > 100) return null
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * SECOND : Date.parse(text) - now.getTime()
  return ms > 0 ? addMs(now, Math.min(ms, RETRY_AFTER_MAX_MS)) : null
}
