import { SECOND } from '../../../platform/time.ts'

/** Builds the session cookie, which expires with the session. `Secure` is always set: browsers accept it on localhost. */
export function sessionCookie(token: string, expiresAt: Date, now: Date): string {
  return cookie(token, Math.floor((expiresAt.getTime() - now.getTime()) / SECOND))
}

export function clearedCookie(): string {
  return cookie('', 0)
}

function cookie(token: string, maxAgeSeconds: number): string {
  return `session_token=${token}; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=${maxAgeSeconds}`
}
