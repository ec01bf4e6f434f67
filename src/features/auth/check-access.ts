import { type AppError, ForbiddenError, UnauthorizedError } from '../../platform/errors.ts'
import type { SystemScope } from '../../scope.ts'
import type { Caller } from '../../trpc/context.ts'

/**
 * Why somebody who was let in would not be let in any more; undefined for who would. It goes by the session, not by its
 * token: who has come by a newer one is still the same.
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
