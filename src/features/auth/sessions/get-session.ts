import { listWorkspaces } from '../workspaces.ts'
import type { CurrentSession } from '../schema.ts'
import type { AuthContext } from '../auth-context.ts'

/** Returns the current session, or null for a caller who is not signed in. */
export async function getSession({ system, caller }: AuthContext): Promise<CurrentSession | null> {
  if (!caller) return null
  const { session, user } = caller
  return { session, user, workspaces: await listWorkspaces(system, user.id) }
}
