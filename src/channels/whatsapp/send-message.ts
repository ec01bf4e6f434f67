import { z } from 'zod'
import { MINUTE, SECOND } from '../../platform/time.ts'
import type { OutboundMessage, ProviderError, SendResult } from '../channel.ts'
import { classifyError, ProviderErrorBody } from './classify-error.ts'
import { composePayload } from './compose-payload.ts'
import type { WhatsappSettings } from './settings.ts'

const TIMEOUT_MS = 15 * SECOND
const ANSWER_BYTES_MAX = 64 * 1024

const Accepted = z.looseObject({
  contacts: z.array(z.looseObject({ wa_id: z.string().regex(/^\d+$/) })).catch([]),
  messages: z.array(z.looseObject({ id: z.string().min(1).max(512) })).min(1),
})
const Refused = z.looseObject({ error: ProviderErrorBody })

type Call = WhatsappSettings & {
  accessToken: string
  timeoutMs: number | undefined
  signal: AbortSignal | undefined
}

/**
 * Hands one message to the Cloud API, which has no idempotency keys: whatever ends without a clear answer is `unknown`,
 * and is only cleared up by the statuses that carry our id back.
 */
export async function sendMessage(message: OutboundMessage, call: Call): Promise<SendResult> {
  const { baseUrl, version, phoneNumberId, accessToken, timeoutMs = TIMEOUT_MS, signal } = call
  if (message.to.phone === null && message.to.userId === null) return NO_ADDRESS
  if (signal?.aborted) return later('The sending was called off', { afterMs: SECOND, scope: 'recipient' })
  const limit = AbortSignal.timeout(timeoutMs)
  let response: Response
  try {
    response = await fetch(`${baseUrl}/${version}/${phoneNumberId}/messages`, {
      method: 'POST',
      // Followed, a redirect would carry a customer's words elsewhere.
      redirect: 'manual',
      headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(composePayload(message)),
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    })
  } catch (error) {
    // The error stays here: its text may quote the request.
    return wasNeverSent(error)
      ? later('The Cloud API cannot be reached', { afterMs: 5 * SECOND, scope: 'channel' })
      : doubt('The connection to the Cloud API ended without an answer')
  }
  return readAnswer(response)
}

async function readAnswer(response: Response): Promise<SendResult> {
  const { ok, status } = response
  const answer = await readJson(response)
  const accepted = Accepted.safeParse(answer).data
  const [message] = accepted?.messages ?? []
  if (ok && message) {
    const waId = accepted?.contacts[0]?.wa_id
    return { kind: 'accepted', providerMessageId: message.id, recipientAddress: waId ? `+${waId}` : null }
  }
  const refused = Refused.safeParse(answer).data
  return !ok && refused ? classifyError(refused.error, status) : readStatus(status)
}

/** The address is wrong, or something guards it: no message gets past. */
const NOT_LET_IN = new Set([401, 403, 404, 405])

/** An answer that is not the Cloud API's comes from something on the way, before or after the message was taken. */
function readStatus(status: number): SendResult {
  const text = `The answer to the call had status ${status} and did not come from the Cloud API`
  if (status === 429) return later(text, { afterMs: MINUTE, scope: 'channel' })
  if (status < 300 || status === 408 || status >= 500) return doubt(text)
  const hint = "Check the channel's base URL, version and access token"
  const error = { ...problem('not_cloud_api', text), hint }
  return { kind: status < 400 || NOT_LET_IN.has(status) ? 'stopped' : 'refused', error }
}

/** Undefined for what is too long, breaks off or is no JSON. */
async function readJson(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.length
      if (size > ANSWER_BYTES_MAX) return undefined
      chunks.push(chunk)
    }
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    return undefined
  }
}

const CONNECTING = new Set(['connect', 'getaddrinfo'])
const HANDSHAKE = /^(CERT_|DEPTH_ZERO_|ERR_TLS_CERT_|SELF_SIGNED_|UNABLE_TO_|ERR_SSL_WRONG_VERSION|UND_ERR_CONNECT_)/

/** True only where the connection was never made; one that breaks later may have carried the message. */
function wasNeverSent(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  if (!(cause instanceof Error)) return false
  // Several addresses were tried, and none answered.
  if (cause instanceof AggregateError) return true
  const { code = '', syscall = '' } = cause as { code?: string; syscall?: string }
  return CONNECTING.has(syscall) || HANDSHAKE.test(code)
}

function problem(code: string, message: string): ProviderError {
  return { code, message, providerCode: null, retryable: false, hint: null }
}

function later(message: string, rest: { afterMs: number; scope: 'recipient' | 'channel' }): SendResult {
  return { kind: 'retry', error: { ...problem('provider_unavailable', message), retryable: true }, ...rest }
}

function doubt(message: string): SendResult {
  return { kind: 'unknown', error: problem('delivery_unknown', message) }
}

const NO_ADDRESS: SendResult = {
  kind: 'refused',
  error: problem('no_address', 'The contact has neither a phone number nor an id on this channel'),
}
