import { ConflictError, ForbiddenError, NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { includesRole, type Role } from '../../scope/dependencies.ts'
import { lockOpenWorkspace } from '../../scope/deleted-workspaces.ts'
import type { Scope } from '../../scope/scope.ts'

export type Standing = { actorRole: Role; role: Role; ownerCount: number }

/**
 * Locks the members of the workspace until the transaction ends: changes of its members are made one after the other.
 * @throws ForbiddenError if the workspace was deleted meanwhile, whose members and keys nobody changes any more
 */
export async function lockMembership(tx: Scope): Promise<void> {
  if (!(await lockOpenWorkspace(tx))) throw new ForbiddenError()
}

/**
 * Reads the roles of the caller and of another member under the lock, as those of the request may be seconds old.
 * @throws ForbiddenError if the caller is no member any more; NotFoundError
 */
export async function lockStanding(
  tx: Scope,
  { actorId, userId }: { actorId: string; userId: string },
): Promise<Standing> {
  if (!isUuid(userId)) throw new NotFoundError('Member')
  await lockMembership(tx)
  const rows = await tx.sql<{ userId: string; role: Role; ownerCount: number }>('readStanding')`
    select user_id, role, (select count(*)::int from memberships o
      where o.workspace_id = ${tx.tenantId} and o.role = 'owner') as owner_count
    from memberships where workspace_id = ${tx.tenantId} and user_id = any(${[actorId, userId]})`
  const actor = rows.find((row) => row.userId === actorId)
  const member = rows.find((row) => row.userId === userId.toLowerCase())
  if (!actor) throw new ForbiddenError()
  if (!member) throw new NotFoundError('Member')
  return { actorRole: actor.role, role: member.role, ownerCount: member.ownerCount }
}

/**
 * Checks that a member may get another role, or none. Nobody grants or takes away a role above the own one.
 * @throws ForbiddenError; ConflictError `last_owner`
 */
export function assertMayChange({ actorRole, role, ownerCount }: Standing, newRole: Role | null): void {
  const isAllowed = includesRole(actorRole, role) && (newRole === null || includesRole(actorRole, newRole))
  if (!isAllowed) throw new ForbiddenError()
  if (role !== 'owner' || newRole === 'owner' || ownerCount > 1) return
  throw new ConflictError('last_owner', 'This is the only owner of the workspace. Make another member an owner first')
}
