import { createHash, hash, randomBytes, timingSafeEqual } from 'node:crypto'

const FORMAT = /^[A-Za-z0-9_-]{43}$/

/** Creates a token of 256 random bits. Only its hash is stored, so the database reveals no token. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

/** Recognizes texts that cannot be a token, without a database query. */
export function isToken(text: string): boolean {
  return FORMAT.test(text)
}

/** Hashes a token. An unsalted hash is enough, as a random token cannot be guessed from it. */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/** Compares secrets of any length in constant time. */
export function equalsTimingSafe(actual: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(actual), digest(expected))
}
