import { createHmac, timingSafeEqual } from 'node:crypto'

const HEADER = /^sha256=([0-9a-f]{64})$/i

/** Over the bytes as they came: a body that was parsed and written again is another body. */
export function verifySignature(body: Buffer, header: string, appSecret: string): boolean {
  const given = HEADER.exec(header)?.[1]
  if (!given) return false
  const expected = createHmac('sha256', appSecret).update(body).digest()
  return timingSafeEqual(Buffer.from(given, 'hex'), expected)
}
