import type { Channel } from '../channel.ts'
import { verifyHandshake } from './answer-handshake.ts'
import { parseWebhook } from './parse-webhook.ts'
import { sendMessage } from './send-message.ts'
import { assertNotLoopback, WhatsappCredentials, WhatsappSettings } from './settings.ts'
import { verifySignature } from './verify-signature.ts'

export type WhatsappOptions = { allowLoopback?: boolean; timeoutMs?: number }

/** A business number at the Cloud API. */
export function whatsappChannel(settings: unknown, credentials: unknown, options: WhatsappOptions): Channel {
  const known = WhatsappSettings.parse(settings)
  const secret = WhatsappCredentials.parse(credentials)
  if (!options.allowLoopback) assertNotLoopback(known)
  return {
    answerHandshake: (query) => verifyHandshake(query, secret.verifyToken),
    isGenuine: (body, header) => verifySignature(body, header('x-hub-signature-256'), secret.appSecret),
    parse: (body) => parseWebhook(body, known.phoneNumberId),
    send: (message, signal) =>
      sendMessage(message, { ...known, accessToken: secret.accessToken, timeoutMs: options.timeoutMs, signal }),
  }
}
