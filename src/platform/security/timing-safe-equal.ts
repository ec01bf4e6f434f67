import { createHash, timingSafeEqual } from 'node:crypto'

/** Compares secrets of any length in constant time. */
export function equalsTimingSafe(actual: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(actual), digest(expected))
}
