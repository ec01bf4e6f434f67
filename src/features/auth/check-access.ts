import { type AppError, ForbiddenError, UnauthorizedError } from '../../platform/errors.ts'
import type { SystemScope } from '../../scope.ts'
import type { Caller } from '../../trpc/context.ts'

/**
 * Returns the error if the caller's session or membership is no longer valid. It checks the session, not its token, which
 * may have been renewed since.
 */
export async function checkAccess(system: SystemScope, caller: Caller): Promise<AppError | undefined> {
  const workspaceId = typeof caller.workspace === 'string' ? null : caller.workspace.id
  const [session] = await system.sql<{ isMember: boolean }>('checkAccess')`
    select exists (
      select from memberships m where m.user_id = s.user_id and m.workspace_id = ${workspaceId}) as is_member
    from sessions s where s.id = ${caller.session.id} and s.expires_at > ${system.now()}`
  if (!session) return new UnauthorizedError()
  return session.isMember ? undefined : new ForbiddenError()
}
