import { Passwords } from '../../platform/security/passwords.ts'
import { AccessChecks } from '../../trpc/access-checks.ts'
import type { AuthDependencies } from '../../trpc/context.ts'
import { OPEN_MEMBERSHIPS } from '../../scope/deleted-workspaces.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { createIdentify } from './sessions/create-identify.ts'
import { type AppError, ForbiddenError, UnauthorizedError } from '../../platform/errors.ts'
import type { UserCaller } from '../../trpc/caller.ts'
import { ApiKeys } from '../api-keys/identify-key.ts'
import { includesRole, type Role } from '../../scope/dependencies.ts'

/** Creates the long-lived objects of authentication. */
export function createAuth({
  system,
  ...dependencies
}: Omit<AuthDependencies, 'passwords' | 'accessChecks' | 'findRole'> & { system: SystemScope }) {
  const apiKeys = new ApiKeys(system)
  return {
    ...dependencies,
    passwords: new Passwords(),
    identify: createIdentify(system),
    findRole: (userId: string, workspaceId: string) => findRole(system, userId, workspaceId),
    identifyKey: (claim: { secret: string; ipAddress: string }) => apiKeys.identify(claim),
    accessChecks: new AccessChecks({
      now: () => system.now(),
      notifications: system.notifications,
      checkUsers: (callers) => checkUsers(system, callers),
      checkKey: (caller) => apiKeys.check(caller),
    }),
  }
}

async function findRole(system: SystemScope, userId: string, workspaceId: string): Promise<Role | null> {
  const [membership] = await system.sql<{ role: Role }>('findRole')`
    select m.role from ${OPEN_MEMBERSHIPS} where m.workspace_id = ${workspaceId} and m.user_id = ${userId}`
  return membership?.role ?? null
}

/**
 * Returns for each caller the error if the session or membership is no longer valid, or the role is lower than it was, with
 * one statement. It checks the session, not its token, which may have been renewed since.
 */
async function checkUsers(system: SystemScope, callers: UserCaller[]): Promise<(AppError | undefined)[]> {
  const sessionIds = callers.map(({ session }) => session.id)
  const workspaceIds = [...new Set(callers.flatMap((caller) => toWorkspaceId(caller) ?? []))]
  const rows = await system.sql<{ sessionId: string; workspaceId: string | null; role: Role | null }>('checkAccess')`
    select s.id as session_id, m.workspace_id, m.role from sessions s
    left join ${OPEN_MEMBERSHIPS} on m.user_id = s.user_id and m.workspace_id = any(${workspaceIds})
    where s.id = any(${sessionIds}) and s.expires_at > ${system.now()}`
  const rolesBySession = new Map<string, Map<string | null, Role | null>>()
  for (const { sessionId, workspaceId, role } of rows)
    rolesBySession.set(sessionId, (rolesBySession.get(sessionId) ?? new Map()).set(workspaceId, role))
  return callers.map(({ session, workspace }) => {
    const roles = rolesBySession.get(session.id)
    if (!roles) return new UnauthorizedError()
    if (typeof workspace === 'string') return new ForbiddenError()
    const role = roles.get(workspace.id)
    return role && includesRole(role, workspace.role) ? undefined : new ForbiddenError()
  })
}

function toWorkspaceId({ workspace }: UserCaller): string | null {
  return typeof workspace === 'string' ? null : workspace.id
}
