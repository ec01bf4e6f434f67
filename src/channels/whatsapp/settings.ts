import { isIP } from 'node:net'
import { z } from 'zod'
import { InvalidError } from '../../platform/errors.ts'

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])
const digits = (noun: string) => z.string().regex(/^\d{1,32}$/, `must be the digits of a ${noun}`)

/**
 * Whoever sets this address chooses whom the server calls. Over TLS, and by a name: what answers must own a certificate
 * for that name, which nothing inside a private network does for a name of the outside. Else only this very machine.
 */
function isCallable(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password, search, hash } = new URL(text)
  if (username || password || search || hash) return false
  if (LOOPBACK.has(hostname)) return protocol === 'https:' || protocol === 'http:'
  return protocol === 'https:' && isIP(hostname) === 0 && !hostname.startsWith('[')
}

export const WhatsappSettings = z.object({
  phoneNumberId: digits('phone number id'),
  wabaId: digits('WhatsApp Business Account id').nullable().default(null),
  baseUrl: z
    .string()
    .max(500)
    .refine(isCallable, 'must be an https URL with a host name')
    .default('https://graph.facebook.com')
    .transform((url) => new URL(url))
    .transform(({ origin, pathname }) => `${origin}${pathname}`.replace(/\/+$/, '')),
  version: z
    .string()
    .regex(/^v\d{1,3}\.\d$/, 'must be a version such as v24.0')
    .default('v24.0'),
})
export type WhatsappSettings = z.output<typeof WhatsappSettings>

/** Printable characters only: anything else cannot stand in a header, and came with copying. */
const secret = (min: number, max: number) =>
  z
    .string()
    .trim()
    .min(min, `must have at least ${min} characters`)
    .max(max)
    .regex(/^[\x21-\x7e]*$/, 'must have no spaces, line breaks or special characters')

export const WhatsappCredentials = z.object({
  accessToken: secret(1, 1000),
  appSecret: secret(1, 200),
  verifyToken: secret(8, 200),
})
export type WhatsappCredentials = z.output<typeof WhatsappCredentials>

/** An emulator on this machine is for tests and trials: a tenant of a shared installation has no business there. */
export function assertNotLoopback({ baseUrl }: WhatsappSettings): void {
  if (!LOOPBACK.has(new URL(baseUrl).hostname)) return
  const message = 'must not be an address of the server itself, unless the installation allows it'
  throw new InvalidError(`baseUrl ${message}`, [{ path: 'baseUrl', message }])
}
