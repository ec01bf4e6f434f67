import { newId } from '../../../platform/ids.ts'
import { hashToken, newToken } from '../../../platform/security/tokens.ts'
import { addMs, DAY, SECOND } from '../../../platform/time.ts'
import type { SystemScope } from '../../../scope/system-scope.ts'
import type { AuthContext } from '../auth-context.ts'
import { rememberAddress } from '../known-addresses.ts'
import type { User } from '../schema.ts'
import { listWorkspaces, type Membership } from '../workspaces.ts'

/** The part of a request that a new session needs. */
export type SessionContext = Pick<AuthContext, 'system' | 'caller' | 'client' | 'setHeader'>

/** Counted from sign-in and never extended. */
const SESSION_MS = 7 * DAY
const SESSION_COOKIE = 'session_token'

/**
 * Creates a session for the user that `findUser` returns, in the same transaction. The token is always new and the
 * previous session of the caller ends, so a planted cookie is worthless afterwards.
 */
export async function createSession(
  { system, caller, client, setHeader }: SessionContext,
  findUser: (tx: SystemScope) => Promise<User>,
): Promise<{ user: User; workspaces: Membership[] }> {
  const token = newToken()
  const now = system.now()
  const expiresAt = addMs(now, SESSION_MS)
  const created = await system.transaction(async (tx) => {
    const user = await findUser(tx)
    if (caller) await tx.db('sessions').where('id', caller.session.id).delete()
    await tx.db('sessions').insert({
      id: newId(),
      user_id: user.id,
      token_hash: hashToken(token),
      created_at: now,
      renewed_at: now,
      expires_at: expiresAt,
      ip_address: client.ipAddress,
      user_agent: client.userAgent,
    })
    await rememberAddress(tx, user.id, client.addressKey)
    return { user, workspaces: await listWorkspaces(tx, user.id) }
  })
  if (caller) system.notifications.publish('revocations', caller.user.id)
  setHeader('Set-Cookie', sessionCookie(token, expiresAt, now))
  return created
}

/** Builds the session cookie, which expires with the session. `Secure` is always set: browsers accept it on localhost. */
export function sessionCookie(token: string, expiresAt: Date, now: Date): string {
  return buildCookie(SESSION_COOKIE, token, Math.floor((expiresAt.getTime() - now.getTime()) / SECOND))
}

export function clearedCookie(): string {
  return buildCookie(SESSION_COOKIE, '', 0)
}

/** Builds a cookie that pages cannot read. */
export function buildCookie(name: string, value: string, maxAgeSeconds: number): string {
  return `${name}=${value}; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=${maxAgeSeconds}`
}
