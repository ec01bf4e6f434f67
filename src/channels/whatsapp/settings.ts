import { z } from 'zod'

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** A provider's address is called with a customer's words and a secret: only over TLS, or to this very machine. */
function isAcceptable(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password, search, hash } = new URL(text)
  if (username || password || search || hash) return false
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.has(hostname))
}

export const WhatsappSettings = z.object({
  phoneNumberId: z.string().regex(/^\d{1,32}$/, 'must be the digits of a phone number id'),
  wabaId: z
    .string()
    .regex(/^\d{1,32}$/, 'must be the digits of a WhatsApp Business Account id')
    .nullable()
    .default(null),
  baseUrl: z
    .string()
    .refine(isAcceptable, 'must be an https URL')
    .default('https://graph.facebook.com/v24.0')
    .transform((url) => url.replace(/\/+$/, '')),
})
export type WhatsappSettings = z.output<typeof WhatsappSettings>

export const WhatsappCredentials = z.object({
  accessToken: z.string().min(1).max(1000),
  appSecret: z.string().min(1).max(200),
  verifyToken: z.string().min(8, 'must have at least 8 characters').max(200),
})
export type WhatsappCredentials = z.output<typeof WhatsappCredentials>
