import { createHmac, timingSafeEqual } from 'node:crypto'

const HEADER = /^sha256=([0-9a-f]{64})$/i

/** Verifies the signature over the raw bytes of the body. Parsed and serialized again, they would differ. */
export function verifySignature(body: Buffer, header: string, appSecret: string): boolean {
  const signature = HEADER.exec(header)?.[1]
  if (!signature) return false
  const expected = createHmac('sha256', appSecret).update(body).digest()
  return timingSafeEqual(Buffer.from(signature, 'hex'), expected)
}
