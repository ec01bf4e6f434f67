import { equalsTimingSafe } from '../../platform/security/timing-safe-equal.ts'

/** The challenge, to be sent back as plain text, if the question comes from somebody who knows the verify token. */
export function verifyHandshake(query: URLSearchParams, verifyToken: string): string | undefined {
  const isRight = equalsTimingSafe(query.get('hub.verify_token') ?? '', verifyToken)
  return isRight && query.get('hub.mode') === 'subscribe' ? (query.get('hub.challenge') ?? undefined) : undefined
}
