import { UnprocessableError } from '../../platform/errors.ts'
import type { AuditEntry } from '../../scope/audit-entry.ts'
import { OPEN_MEMBERSHIPS } from '../../scope/deleted-workspaces.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import type { UserCaller } from '../../trpc/caller.ts'
import { createWorkspace } from '../auth/workspaces.ts'
import type { CreateWorkspace, Workspace } from './schema.ts'
import { getWorkspace } from './settings.ts'

/** Each workspace has limits of its own, so nobody may own many. */
const OWNED_MAX = 20

/**
 * Creates a workspace of the caller.
 * @throws UnprocessableError `too_many_workspaces`
 */
export async function createOwnWorkspace(
  { system, caller, audit }: { system: SystemScope; caller: UserCaller; audit: AuditEntry },
  { name, timezone, language, country }: CreateWorkspace,
): Promise<Workspace> {
  const { id: ownerId, name: ownerName } = caller.user
  return system.transaction(async (tx) => {
    await assertMayOwn(tx, ownerId)
    const workspaceId = await createWorkspace(tx, {
      name,
      ownerId,
      ...(timezone ? { timezone } : {}),
      ...(language ? { language } : {}),
      ...(country ? { country } : {}),
    })
    const actor = { type: 'user', id: ownerId, name: ownerName } as const
    return tx.forTenant(workspaceId, actor, { audit }).transaction(getWorkspace)
  })
}

/** Locks the user, so that concurrent calls are all counted. */
async function assertMayOwn(tx: SystemScope, userId: string): Promise<void> {
  await tx.sql('lockUser')`select from users where id = ${userId} for no key update`
  const [row] = await tx.sql<{ owned: number }>('countOwnedWorkspaces')`
    select count(*)::int as owned from ${OPEN_MEMBERSHIPS} where m.user_id = ${userId} and m.role = 'owner'`
  if ((row?.owned ?? 0) < OWNED_MAX) return
  throw new UnprocessableError(
    'too_many_workspaces',
    `You own ${OWNED_MAX} workspaces, which is the most. Use one of them, or leave one to another owner`,
  )
}
