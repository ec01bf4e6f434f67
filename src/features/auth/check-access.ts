import { type AppError, ForbiddenError, UnauthorizedError } from '../../platform/errors.ts'
import type { SystemScope } from '../../scope.ts'
import type { Caller } from '../../trpc/context.ts'

/**
 * Returns the error if the caller's session or membership is no longer valid. It checks the session, not its token, which
 * may have been renewed since.
 */
export async function checkAccess(system: SystemScope, caller: Caller): Promise<AppError | undefined> {
  const workspaceId = typeof caller.workspace === 'string' ? null : caller.workspace.id
  const { rows } = await system.db.raw<{ rows: { isMember: boolean }[] }>(
    `select exists (
       select from memberships m where m.user_id = s.user_id and m.workspace_id = ?) as "isMember"
     from sessions s where s.id = ? and s.expires_at > ?`,
    [workspaceId, caller.session.id, system.now()],
  )
  const [session] = rows
  if (!session) return new UnauthorizedError()
  return session.isMember ? undefined : new ForbiddenError()
}
