import { createHmac, timingSafeEqual } from 'node:crypto'
import { equalsTimingSafe } from '../../platform/security/timing-safe-equal.ts'
import { MINUTE, SECOND } from '../../platform/time.ts'

const SIGNATURE = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/
const BEARER = /^Bearer ([A-Za-z0-9_-]{1,100})$/i

/** Largest clock difference to the sender, and so the time in which an intercepted call can be replayed. */
const WINDOW_MS = 5 * MINUTE

export type WebhookCall = { header: (name: string) => string; body: Buffer }

/**
 * Checks the signature over the timestamp and the raw body, or the bearer secret of senders that cannot sign. A signature
 * takes precedence: if it is present, the bearer secret is ignored.
 */
export function verifyCall({ header, body }: WebhookCall, secret: string, now: Date): boolean {
  const signature = header('x-parley-signature')
  if (signature) return isSigned(signature, { body, secret, now })
  const [, token] = BEARER.exec(header('authorization')) ?? []
  return token !== undefined && equalsTimingSafe(token, secret)
}

function isSigned(signature: string, { body, secret, now }: { body: Buffer; secret: string; now: Date }): boolean {
  const [, seconds, hex] = SIGNATURE.exec(signature) ?? []
  if (!seconds || !hex) return false
  const expected = createHmac('sha256', secret).update(`${seconds}.`).update(body).digest()
  const isValid = timingSafeEqual(Buffer.from(hex, 'hex'), expected)
  return isValid && Math.abs(now.getTime() - Number(seconds) * SECOND) <= WINDOW_MS
}
