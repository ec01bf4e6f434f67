import type { Channel } from '../channel.ts'
import { parseWebhook } from './parse-webhook.ts'
import { sendMessage } from './send-message.ts'
import { WhatsappCredentials, WhatsappSettings } from './settings.ts'
import { isSameSecret, verifySignature } from './verify-signature.ts'

/** A business number at the Cloud API. */
export function whatsappChannel(settings: unknown, credentials: unknown): Channel {
  const known = WhatsappSettings.parse(settings)
  const secret = WhatsappCredentials.parse(credentials)
  return {
    answerHandshake(query) {
      const isRight =
        query.get('hub.mode') === 'subscribe' && isSameSecret(query.get('hub.verify_token') ?? '', secret.verifyToken)
      return isRight ? (query.get('hub.challenge') ?? undefined) : undefined
    },
    isGenuine: (body, header) => verifySignature(body, header('x-hub-signature-256'), secret.appSecret),
    parse: (body) => parseWebhook(body, known.phoneNumberId),
    send: (message) => sendMessage(message, known, secret),
  }
}
