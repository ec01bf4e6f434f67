import { equalsTimingSafe } from '../../../platform/security/tokens.ts'

/** Returns the challenge to send back as plain text if the request has the verify token. */
export function verifyHandshake(query: URLSearchParams, verifyToken: string): string | undefined {
  const isVerified = equalsTimingSafe(query.get('hub.verify_token') ?? '', verifyToken)
  return isVerified && query.get('hub.mode') === 'subscribe' ? (query.get('hub.challenge') ?? undefined) : undefined
}
