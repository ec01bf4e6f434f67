import { createHash, timingSafeEqual } from 'node:crypto'

/** Compares secrets of any length in a time that tells nothing of them. */
export function equalsTimingSafe(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}
