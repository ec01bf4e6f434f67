import type { SignedOut } from './schema.ts'
import { clearedCookie } from './sessions/session-cookie.ts'
import type { AuthContext } from './auth-context.ts'

/** Ends the session, if there is one. Signing out twice is no error. */
export async function signOut({ system, auth, caller, setHeader }: AuthContext): Promise<SignedOut> {
  if (caller) {
    await system.db('sessions').where('id', caller.session.id).delete()
    auth.revocations.revoke(caller.user.id)
  }
  setHeader('Set-Cookie', clearedCookie())
  return { success: true }
}
