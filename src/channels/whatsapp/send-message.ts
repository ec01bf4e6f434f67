import { z } from 'zod'
import { SECOND } from '../../platform/time.ts'
import type { OutboundMessage, ProviderError, SendResult } from '../channel.ts'
import { ProviderErrorBody, resultOf } from './classify-error.ts'
import type { WhatsappCredentials, WhatsappSettings } from './settings.ts'

const TIMEOUT_MS = 15 * SECOND
const ANSWER_BYTES_MAX = 64 * 1024

const Accepted = z.looseObject({ messages: z.array(z.looseObject({ id: z.string().min(1) })).min(1) })
const Refused = z.looseObject({ error: ProviderErrorBody })

/** Nothing was sent: the connection was never made. */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/**
 * Hands one message to the Cloud API, which has no idempotency keys: whatever ends without a clear answer is `unknown`,
 * and is only cleared up by the statuses that carry our id back.
 */
export async function sendMessage(
  message: OutboundMessage,
  settings: WhatsappSettings,
  { accessToken }: WhatsappCredentials,
): Promise<SendResult> {
  let response: Response
  try {
    response = await fetch(`${settings.baseUrl}/${settings.phoneNumberId}/messages`, {
      method: 'POST',
      // A redirect would carry the token elsewhere.
      redirect: 'error',
      headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(payloadOf(message)),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
  } catch (error) {
    return NEVER_CONNECTED.has(codeOf(error))
      ? { kind: 'retry', error: unavailable('The Cloud API cannot be reached'), afterMs: 5 * SECOND, scope: 'channel' }
      : unknown('The connection to the Cloud API ended without an answer')
  }
  return readAnswer(response)
}

function payloadOf({ messageId, to, body, content }: OutboundMessage): Record<string, unknown> {
  const buttons = (content?.['buttons'] ?? []) as { id: string; title: string }[]
  const recipient = to.phone === null ? { recipient: to.userId } : { to: to.phone }
  return {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    ...recipient,
    ...(buttons.length === 0
      ? { type: 'text', text: { preview_url: false, body } }
      : { type: 'interactive', interactive: interactive(body, buttons) }),
    biz_opaque_callback_data: messageId,
  }
}

function interactive(body: string, buttons: { id: string; title: string }[]): Record<string, unknown> {
  const action = { buttons: buttons.map((button) => ({ type: 'reply', reply: button })) }
  return { type: 'button', body: { text: body }, action }
}

async function readAnswer(response: Response): Promise<SendResult> {
  const answer = await readJson(response)
  const accepted = Accepted.safeParse(answer)
  if (response.ok && accepted.success)
    return { kind: 'accepted', providerMessageId: accepted.data.messages[0]?.id ?? '' }
  const refused = Refused.safeParse(answer)
  if (!response.ok && refused.success) return resultOf(refused.data.error)
  // An answer in no form we know may come from a proxy on the way, before or after the message was taken.
  return unknown(`The Cloud API answered with status ${response.status} and no explanation`)
}

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

function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && 'code' in cause ? String(cause.code) : ''
}

function unavailable(message: string): ProviderError {
  return { code: 'provider_unavailable', message, providerCode: null, retryable: true }
}

function unknown(message: string): SendResult {
  return { kind: 'unknown', error: { ...unavailable(message), code: 'delivery_unknown', retryable: false } }
}
