import { type AppError, ForbiddenError, UnauthorizedError } from '../../platform/errors.ts'
import type { SystemScope } from '../../scope.ts'
import type { Caller } from '../../trpc/context.ts'

/**
 * Returns for each caller the error if the session or membership is no longer valid, with one statement. It checks the
 * session, not its token, which may have been renewed since.
 */
export async function checkAccess(system: SystemScope, callers: Caller[]): Promise<(AppError | undefined)[]> {
  const sessionIds = callers.map(({ session }) => session.id)
  const workspaceIds = [...new Set(callers.flatMap((caller) => toWorkspaceId(caller) ?? []))]
  const rows = await system.sql<{ sessionId: string; workspaceId: string | null }>('checkAccess')`
    select s.id as session_id, m.workspace_id from sessions s
    left join memberships m on m.user_id = s.user_id and m.workspace_id = any(${workspaceIds})
    where s.id = any(${sessionIds}) and s.expires_at > ${system.now()}`
  const workspacesBySession = new Map<string, Set<string | null>>()
  for (const { sessionId, workspaceId } of rows)
    workspacesBySession.set(sessionId, (workspacesBySession.get(sessionId) ?? new Set()).add(workspaceId))
  return callers.map((caller) => {
    const workspaces = workspacesBySession.get(caller.session.id)
    if (!workspaces) return new UnauthorizedError()
    const workspaceId = toWorkspaceId(caller)
    return workspaceId !== null && workspaces.has(workspaceId) ? undefined : new ForbiddenError()
  })
}

function toWorkspaceId({ workspace }: Caller): string | null {
  return typeof workspace === 'string' ? null : workspace.id
}
