import { ForbiddenError } from '../../platform/errors.ts'
import { includesRole } from '../../scope/dependencies.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { assertPerson, type Caller } from '../../trpc/caller.ts'
import { revokeKnownKeys } from '../api-keys/revoke-known.ts'
import { assignConversations } from '../conversations/assign-conversations.ts'
import { revokeGranted } from './invitations/revoke-granted.ts'
import { getMember } from './queries.ts'
import type { Member, MemberRef, UpdateMember } from './schema.ts'
import { assertMayChange, lockStanding, type Standing } from './standing.ts'

export type Context = { scope: Scope; system: SystemScope; caller: Caller }

/** Transactions that unassign conversations before the one that removes the member. */
const PORTIONS_MAX = 10_000

/**
 * Gives a member another role. It ends cached sessions and, if it is a lower one, open subscriptions at once. Who may not
 * manage API keys any more loses those that they hold.
 * @throws ForbiddenError, NotFoundError; ConflictError `last_owner`
 */
export async function updateMember(
  { scope, system, caller }: Context,
  { userId, role }: UpdateMember,
): Promise<Member> {
  const { member, keys } = await scope.transaction(async (tx) => {
    const standing = await lockStanding(tx, { actorId: assertPerson(caller).user.id, userId })
    assertIsAdmin(standing)
    tx.audit?.addTargets('member', [userId.toLowerCase()])
    tx.audit?.compareWith({ role: standing.role })
    if (role === undefined || role === standing.role) return { member: await getMember(tx, { userId }), keys: [] }
    assertMayChange(standing, role)
    await revokeGranted(tx, userId, role)
    await tx.sql('updateMember')`
      update memberships set role = ${role} where workspace_id = ${tx.tenantId} and user_id = ${userId}`
    const keys = includesRole(role, 'admin') ? [] : await revokeKnownKeys(tx, userId)
    tx.audit?.addTargets('api_key', keys)
    await tx.record({ type: 'member.updated', data: { userId, changed: ['role'] } })
    return { member: await getMember(tx, { userId }), keys }
  })
  for (const id of [member.userId, ...keys]) system.notifications.publish('revocations', id)
  return member
}

/**
 * Removes a member, whose access ends at once with the API keys that they hold, and unassigns its conversations.
 * @throws ForbiddenError, NotFoundError; ConflictError `last_owner`
 */
export function removeMember(context: Context, { userId }: MemberRef): Promise<Record<string, never>> {
  return remove(context, userId, assertIsAdmin)
}

/** Removes the caller from the workspace. @throws ConflictError `last_owner` */
export function leaveWorkspace(context: Context): Promise<Record<string, never>> {
  return remove(context, assertPerson(context.caller).user.id, () => undefined)
}

async function remove(
  { scope, system, caller }: Context,
  userId: string,
  assertAllowed: (standing: Standing) => void,
): Promise<Record<string, never>> {
  const check = async (tx: Scope) => {
    const standing = await lockStanding(tx, { actorId: assertPerson(caller).user.id, userId })
    assertAllowed(standing)
    assertMayChange(standing, null)
  }
  await scope.transaction(async (tx) => {
    await check(tx)
    tx.audit?.drop()
  })
  // Customers who write wait for one portion, however many conversations the member has.
  for (let count = 0; count < PORTIONS_MAX; count += 1) {
    const hasMore = await scope.transaction((tx) => {
      tx.audit?.drop()
      return unassignPortion(tx, userId)
    })
    if (!hasMore) break
  }
  const keys = await scope.transaction(async (tx) => {
    await check(tx)
    await revokeGranted(tx, userId, null)
    const revoked = await revokeKnownKeys(tx, userId)
    tx.audit?.addTargets('member', [userId.toLowerCase()])
    tx.audit?.addTargets('api_key', revoked)
    await unassignPortion(tx, userId)
    await tx.sql('removeMember')`
      delete from memberships where workspace_id = ${tx.tenantId} and user_id = ${userId}`
    await tx.record({ type: 'member.removed', data: { userId: userId.toLowerCase() } })
    return revoked
  })
  for (const id of [userId.toLowerCase(), ...keys]) system.notifications.publish('revocations', id)
  return {}
}

/** Unassigns some conversations of a member. Returns true if there may be more. */
async function unassignPortion(tx: Scope, userId: string): Promise<boolean> {
  const size = tx.portions.historyStep
  const rows = await tx.sql<{ id: string }>('lockAssigned')`
    select id from conversations where tenant_id = ${tx.tenantId} and id in (
      select id from conversations where tenant_id = ${tx.tenantId} and assignee_id = ${userId} limit ${size})
    order by id for update`
  await assignConversations(
    tx,
    rows.map(({ id }) => ({ conversationId: id, to: { userId: null } })),
  )
  return rows.length === size
}

/** The role of the request may be seconds old. */
function assertIsAdmin({ actorRole }: Standing): void {
  if (!includesRole(actorRole, 'admin')) throw new ForbiddenError()
}
