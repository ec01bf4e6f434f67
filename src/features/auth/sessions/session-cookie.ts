import { SECOND } from '../../../platform/time.ts'

/** Ends with the session, to the second. `Secure` always: browsers take it on localhost too. */
export function sessionCookie(token: string, expiresAt: Date, now: Date): string {
  return cookie(token, Math.floor((expiresAt.getTime() - now.getTime()) / SECOND))
}

export function clearedCookie(): string {
  return cookie('', 0)
}

function cookie(token: string, maxAgeSeconds: number): string {
  return `session_token=${token}; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=${maxAgeSeconds}`
}
