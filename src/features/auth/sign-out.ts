import type { SignedOut } from './schema.ts'
import { clearedCookie } from './sessions/session-cookie.ts'
import type { AuthContext } from './auth-context.ts'

/** Ends the session, if there is one. Signing out twice is no error. */
export async function signOut({ system, caller, setHeader }: AuthContext): Promise<SignedOut> {
  if (caller) {
    await system.db('sessions').where('id', caller.session.id).delete()
    system.notifications.publish('revocations', caller.user.id)
  }
  setHeader('Set-Cookie', clearedCookie())
  return { success: true }
}
