import type { AuthContext } from '../auth-context.ts'
import type { CurrentSession, SignedOut } from '../schema.ts'
import { listWorkspaces } from '../workspaces.ts'
import { clearedCookie } from './create-session.ts'

/** Returns the current session, or null for a caller who is not signed in. */
export async function getSession({ system, caller }: AuthContext): Promise<CurrentSession | null> {
  if (!caller) return null
  const { session, user } = caller
  return { session, user, workspaces: await listWorkspaces(system, user.id) }
}

/** Ends the session, if there is one. Signing out twice is no error. */
export async function signOut({ system, caller, setHeader }: AuthContext): Promise<SignedOut> {
  if (caller) {
    await system.db('sessions').where('id', caller.session.id).delete()
    system.notifications.publish('revocations', caller.user.id)
  }
  setHeader('Set-Cookie', clearedCookie())
  return { success: true }
}
