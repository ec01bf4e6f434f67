import { createHmac, timingSafeEqual } from 'node:crypto'
import { equalsTimingSafe } from '../../../platform/security/tokens.ts'

const HEADER = /^sha256=([0-9a-f]{64})$/i

/** Returns the challenge to send back as plain text if the request has the verify token. */
export function verifyHandshake(query: URLSearchParams, verifyToken: string): string | undefined {
  const isVerified = equalsTimingSafe(query.get('hub.verify_token') ?? '', verifyToken)
  return isVerified && query.get('hub.mode') === 'subscribe' ? (query.get('hub.challenge') ?? undefined) : undefined
}

/** Verifies the signature over the raw bytes of the body. Parsed and serialized again, they would differ. */
export function verifySignature(body: Buffer, header: string, appSecret: string): boolean {
  const signature = HEADER.exec(header)?.[1]
  if (!signature) return false
  const expected = createHmac('sha256', appSecret).update(body).digest()
  return timingSafeEqual(Buffer.from(signature, 'hex'), expected)
}
