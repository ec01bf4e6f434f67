import { Passwords } from '../../platform/security/passwords.ts'
import { AccessChecks } from '../../trpc/access-checks.ts'
import type { AuthDependencies } from '../../trpc/context.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { createIdentify } from './sessions/create-identify.ts'
import { type AppError, ForbiddenError, UnauthorizedError } from '../../platform/errors.ts'
import type { Caller, UserCaller } from '../../trpc/caller.ts'
import { ApiKeys } from '../api-keys/identify-key.ts'

/** Creates the long-lived objects of authentication. */
export function createAuth({
  system,
  ...dependencies
}: Omit<AuthDependencies, 'passwords' | 'accessChecks'> & { system: SystemScope }) {
  const apiKeys = new ApiKeys(system)
  return {
    ...dependencies,
    passwords: new Passwords(),
    identify: createIdentify(system),
    identifyKey: (claim: { secret: string; ipAddress: string }) => apiKeys.identify(claim),
    accessChecks: new AccessChecks({
      now: () => system.now(),
      notifications: system.notifications,
      checkAccess: (callers) => checkAccess(system, apiKeys, callers),
    }),
  }
}

/** Returns for each caller the error if the session, membership or API key is no longer valid. */
async function checkAccess(
  system: SystemScope,
  apiKeys: ApiKeys,
  callers: Caller[],
): Promise<(AppError | undefined)[]> {
  const users = callers.flatMap((caller) => ('key' in caller ? [] : [caller]))
  const userErrors = await findUserErrors(system, users)
  return Promise.all(callers.map((caller) => ('key' in caller ? apiKeys.check(caller) : userErrors.get(caller))))
}

/** With one statement. It checks the session, not its token, which may have been renewed since. */
async function findUserErrors(system: SystemScope, callers: UserCaller[]): Promise<Map<UserCaller, AppError>> {
  const errors = new Map<UserCaller, AppError>()
  if (callers.length === 0) return errors
  const sessionIds = callers.map(({ session }) => session.id)
  const workspaceIds = [...new Set(callers.flatMap((caller) => toWorkspaceId(caller) ?? []))]
  const rows = await system.sql<{ sessionId: string; workspaceId: string | null }>('checkAccess')`
    select s.id as session_id, m.workspace_id from sessions s
    left join memberships m on m.user_id = s.user_id and m.workspace_id = any(${workspaceIds})
    where s.id = any(${sessionIds}) and s.expires_at > ${system.now()}`
  const workspacesBySession = new Map<string, Set<string | null>>()
  for (const { sessionId, workspaceId } of rows)
    workspacesBySession.set(sessionId, (workspacesBySession.get(sessionId) ?? new Set()).add(workspaceId))
  for (const caller of callers) {
    const workspaces = workspacesBySession.get(caller.session.id)
    const workspaceId = toWorkspaceId(caller)
    if (!workspaces) errors.set(caller, new UnauthorizedError())
    else if (workspaceId === null || !workspaces.has(workspaceId)) errors.set(caller, new ForbiddenError())
  }
  return errors
}

function toWorkspaceId({ workspace }: UserCaller): string | null {
  return typeof workspace === 'string' ? null : workspace.id
}
