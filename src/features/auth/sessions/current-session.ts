import { hashToken, isToken } from '../../../platform/security/tokens.ts'
import type { SystemScope } from '../../../scope/system-scope.ts'
import type { AuthContext } from '../auth-context.ts'
import type { CurrentSession, SignedOut } from '../schema.ts'
import { listWorkspaces } from '../workspaces.ts'
import { clearedCookie } from './create-session.ts'
import { findSession, type FoundSession } from './find-session.ts'

/** Returns the current session, or null for a caller who is not signed in. */
export async function getSession({ system, caller }: AuthContext): Promise<CurrentSession | null> {
  if (!caller) return null
  const { session, user } = caller
  return { session, user, workspaces: await listWorkspaces(system, user.id) }
}

/** Ends the session of the cookie, if there is one, also in a call with an API key. Signing out twice is no error. */
export async function signOut({ system, caller, sessionToken, setHeader }: AuthContext): Promise<SignedOut> {
  const found = caller || sessionToken === null ? undefined : await findByToken(system, sessionToken)
  const session = caller?.session ?? found?.session
  if (session) {
    await system.db('sessions').where('id', session.id).delete()
    system.notifications.publish('revocations', session.userId)
  }
  setHeader('Set-Cookie', clearedCookie())
  return { success: true }
}

async function findByToken(system: SystemScope, token: string): Promise<FoundSession | undefined> {
  return isToken(token) ? findSession(system, { tokenHash: hashToken(token), workspaceId: null }) : undefined
}
