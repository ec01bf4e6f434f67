import { isIP } from 'node:net'
import { z } from 'zod'
import { InvalidError } from '../../platform/errors.ts'
import { urlError } from '../../platform/outbound/check-url.ts'

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])
const digits = (noun: string) => z.string().regex(/^\d{1,32}$/, `must be the digits of a ${noun}`)

/**
 * Returns true for an https URL with a host name, or a URL on this machine. This keeps customers from making the server
 * call private networks: no host there has a certificate for a public name.
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

/** Printable characters only: others cannot be sent in a header and usually come from copying. */
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

/**
 * Returns why the base URL may not be called, as far as its text determines it; undefined if it may. Emulators on this
 * machine and on other ports are for tests; tenants of a shared installation must not call them.
 */
export function findBaseUrlProblem(
  { baseUrl }: WhatsappSettings,
  { allowsLoopback }: { allowsLoopback: boolean },
): string | undefined {
  const { hostname, port } = new URL(baseUrl)
  if (allowsLoopback) return undefined
  if (LOOPBACK.has(hostname)) return 'must not be an address on the server itself unless the installation allows it'
  if (port !== '') return 'must use port 443'
  return urlError(baseUrl)?.message
}

/** @throws InvalidError when the base URL may not be called */
export function assertCallableBaseUrl(settings: WhatsappSettings, rules: { allowsLoopback: boolean }): void {
  const message = findBaseUrlProblem(settings, rules)
  if (message !== undefined) throw new InvalidError(`baseUrl ${message}`, [{ path: 'baseUrl', message }])
}
