import type { Dispatcher } from 'undici'
import { z } from 'zod'
import { deadline } from '../../../platform/concurrency/deadline.ts'
import { getField } from '../../../platform/fields.ts'
import { OutboundError } from '../../../platform/outbound/outbound-error.ts'
import { MINUTE, SECOND } from '../../../platform/time.ts'
import { type OutboundMessage, type ProviderError, SEND_MAX_MS, type SendResult } from '../../channel.ts'
import { classifyError, ProviderErrorBody } from '../classify-error.ts'
import { composePayload } from './compose-payload.ts'
import { type ApiResponse, postMessage } from '../post-message.ts'
import type { WhatsappSettings } from '../settings.ts'

const Accepted = z.looseObject({
  contacts: z.array(z.looseObject({ wa_id: z.string().regex(/^\d+$/) })).catch([]),
  messages: z.array(z.looseObject({ id: z.string().min(1).max(512) })).min(1),
})
const Refused = z.looseObject({ error: ProviderErrorBody })

export type Failure = Exclude<SendResult, { kind: 'accepted' }>
type Retry = Extract<SendResult, { kind: 'retry' }>

type Call = WhatsappSettings & {
  accessToken: string
  timeoutMs: number | undefined
  signal: AbortSignal | undefined
  agent: Dispatcher
}

/**
 * Sends one message by the Cloud API, which has no idempotency keys: without a clear response the result is `unknown`,
 * and only a status report with our message id settles it.
 */
export async function sendMessage(message: OutboundMessage, call: Call): Promise<SendResult> {
  const { baseUrl, version, phoneNumberId, accessToken, timeoutMs = SEND_MAX_MS, signal, agent } = call
  if (message.to.phone === null && message.to.userId === null) return NO_ADDRESS
  if (signal?.aborted) return retryLater('Sending was aborted', { afterMs: SECOND, scope: 'recipient' })
  const limit = deadline(timeoutMs, signal)
  try {
    const response = await postMessage({
      url: `${baseUrl}/${version}/${phoneNumberId}/messages`,
      accessToken,
      payload: composePayload(message),
      agent,
      signal: limit.signal,
    })
    return toResult(response)
  } catch (error) {
    return classifyException(error)
  } finally {
    limit.release()
  }
}

/** Maps an error of a call to a result. The error is dropped: its text may quote the request. */
export function classifyException(error: unknown): Failure {
  if (error instanceof OutboundError) return stopAtBaseUrl(error.message)
  return wasNeverSent(error)
    ? retryLater('The Cloud API cannot be reached', { afterMs: 5 * SECOND, scope: 'channel' })
    : inDoubt('The connection to the Cloud API ended without a response')
}

function toResult({ status, body, retryAfterMs }: ApiResponse): SendResult {
  const isOk = status >= 200 && status < 300
  const accepted = Accepted.safeParse(body).data
  const [message] = accepted?.messages ?? []
  if (isOk && message) {
    const waId = accepted?.contacts[0]?.wa_id
    return { kind: 'accepted', providerMessageId: message.id, recipientAddress: waId ? `+${waId}` : null }
  }
  return classifyFailure({ status, body, retryAfterMs })
}

/** Maps a response without the expected content to a result. */
export function classifyFailure({ status, body, retryAfterMs }: ApiResponse): Failure {
  const refused = Refused.safeParse(body).data
  const result = status >= 300 && refused ? classifyError(refused.error, status) : classifyStatus(status)
  return result.kind === 'retry' && retryAfterMs !== null ? { ...result, afterMs: retryAfterMs, isExact: true } : result
}

/** Statuses of a wrong address or of a proxy that denies access: no message can be sent. */
const ACCESS_DENIED = new Set([401, 403, 404, 405])

/** Maps a response that is not the Cloud API's: it comes from a proxy, before or after the message was accepted. */
function classifyStatus(status: number): Failure {
  const text = `The response had status ${status} and did not come from the Cloud API`
  if (status === 429) return retryLater(text, { afterMs: MINUTE, scope: 'channel' })
  if (status < 300 || status === 408 || status >= 500) return inDoubt(text)
  const hint = 'Check the base URL, version and access token of the channel'
  const error = { ...toError('not_cloud_api', text), hint }
  return { kind: status < 400 || ACCESS_DENIED.has(status) ? 'stopped' : 'refused', error }
}

/** System calls of connecting and of DNS queries. */
const CONNECTING = /^(connect|getaddrinfo|query[A-Z])/
const HANDSHAKE = /^(CERT_|DEPTH_ZERO_|ERR_TLS_CERT_|SELF_SIGNED_|UNABLE_TO_|ERR_SSL_WRONG_VERSION|UND_ERR_CONNECT_)/

/** Returns true only if no connection was made. One that breaks later may have delivered the message. */
function wasNeverSent(error: unknown): boolean {
  // Several addresses were tried, and none accepted a connection.
  if (error instanceof AggregateError) return true
  const syscall = getField(error, 'syscall')
  const code = getField(error, 'code')
  return (typeof syscall === 'string' && CONNECTING.test(syscall)) || (typeof code === 'string' && HANDSHAKE.test(code))
}

function toError(code: string, message: string): ProviderError {
  return { code, message, providerCode: null, retryable: false, hint: null }
}

export function retryLater(message: string, retry: { afterMs: number; scope: 'recipient' | 'channel' }): Retry {
  return { kind: 'retry', error: { ...toError('provider_unavailable', message), retryable: true }, ...retry }
}

/** Result of a base URL that may not be called. It is the same for every host and port. */
export function stopAtBaseUrl(message: string): Extract<SendResult, { kind: 'stopped' }> {
  const hint = 'Create the channel again with the base URL of a public host'
  return { kind: 'stopped', error: { ...toError('base_url_refused', message), hint } }
}

function inDoubt(message: string): Failure {
  return { kind: 'unknown', error: toError('delivery_unknown', message) }
}

const NO_ADDRESS: SendResult = {
  kind: 'refused',
  error: toError('no_address', 'The contact has neither a phone number nor an id on this channel'),
}
