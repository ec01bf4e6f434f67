import type { Channel } from '../channel.ts'
import { verifyHandshake } from './verify-handshake.ts'
import { parseWebhook } from './parse-webhook.ts'
import { sendMessage } from './send-message.ts'
import { assertNotLoopback, WhatsappCredentials, WhatsappSettings } from './settings.ts'
import { verifySignature } from './verify-signature.ts'

export type WhatsappOptions = { allowLoopback?: boolean; timeoutMs?: number }

/** Creates the adapter of a WhatsApp business number on the Cloud API. */
export function whatsappChannel(settings: unknown, credentials: unknown, options: WhatsappOptions): Channel {
  const parsed = WhatsappSettings.parse(settings)
  const { verifyToken, appSecret, accessToken } = WhatsappCredentials.parse(credentials)
  if (!options.allowLoopback) assertNotLoopback(parsed)
  return {
    answerHandshake: (query) => verifyHandshake(query, verifyToken),
    isGenuine: (body, header) => verifySignature(body, header('x-hub-signature-256'), appSecret),
    parse: (body) => parseWebhook(body, parsed.phoneNumberId),
    send: (message, signal) => sendMessage(message, { ...parsed, accessToken, timeoutMs: options.timeoutMs, signal }),
  }
}
