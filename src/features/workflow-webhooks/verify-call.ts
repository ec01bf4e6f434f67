import { createHmac, timingSafeEqual } from 'node:crypto'
import { equalsTimingSafe } from '../../platform/security/timing-safe-equal.ts'
import { MINUTE, SECOND } from '../../platform/time.ts'

const SIGNATURE = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/
const BEARER = /^Bearer ([A-Za-z0-9_-]{1,100})$/i

/** How far the sender's clock may be off, and for how long a call that was overheard can be repeated. */
const WINDOW_MS = 5 * MINUTE

export type WebhookCall = { header: (name: string) => string; body: Buffer }

/**
 * A call is signed over its time and its bytes as they came, or, from who cannot sign, carries the secret itself. A
 * signature that is given counts, whatever stands beside it.
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
  const isRight = timingSafeEqual(Buffer.from(hex, 'hex'), expected)
  return isRight && Math.abs(now.getTime() - Number(seconds) * SECOND) <= WINDOW_MS
}
