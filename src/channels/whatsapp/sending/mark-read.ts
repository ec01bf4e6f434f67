import type { Dispatcher } from 'undici'
import { SECOND } from '../../../platform/time.ts'
import { postMessage } from '../post-message.ts'
import type { WhatsappSettings } from '../settings.ts'

const TIMEOUT_MS = 5 * SECOND

type Call = WhatsappSettings & { accessToken: string; agent: Dispatcher }

/**
 * Marks a message of a customer and all before it as read, and optionally shows that somebody is typing.
 * @throws Error when the Cloud API does not confirm it within 5 seconds
 */
export async function markRead(
  providerMessageId: string,
  { showsTyping }: { showsTyping: boolean },
  { baseUrl, version, phoneNumberId, accessToken, agent }: Call,
): Promise<void> {
  const { status } = await postMessage({
    url: `${baseUrl}/${version}/${phoneNumberId}/messages`,
    accessToken,
    payload: {
      messaging_product: 'whatsapp',
      status: 'read',
      message_id: providerMessageId,
      ...(showsTyping ? { typing_indicator: { type: 'text' } } : {}),
    },
    agent,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  if (status < 200 || status >= 300) throw new Error(`the Cloud API answered a read receipt with status ${status}`)
}
