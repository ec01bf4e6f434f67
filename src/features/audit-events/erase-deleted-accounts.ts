import { NIL_ID } from '../../platform/ids.ts'
import { forEachTenant } from '../../platform/jobs/for-each-tenant.ts'
import { addMs, DAY, MINUTE, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { listDeletedUsers } from '../auth/two-factors.ts'

/** The periodic task runs as often. */
export const ERASE_EVERY_MS = 10 * MINUTE
/** A run looks at a part of the workspaces, so that each has its turn once a day, whichever process does it. */
const TURNS = DAY / ERASE_EVERY_MS
const WORKSPACES_MAX = 1000
const USERS_MAX = 1000
/** No workspace is started after this time; its next turn is a day later. */
const RUN_MAX_MS = 30 * SECOND
/** Statements per account and run. What is left is erased by a later run. */
const STATEMENTS_MAX = 200

/**
 * Erases the addresses and user agents of deleted accounts from audit events and from the receipts of deleted workspaces,
 * which would tell of their owners. Nothing says which accounts were deleted, so the actors of a workspace are compared with
 * the accounts. Running it concurrently or repeatedly is safe.
 */
export async function eraseDeletedAccounts(system: SystemScope): Promise<void> {
  await eraseInReceipts(system)
  const context = { log: system.log, task: 'erase deleted accounts' }
  const turn = Math.floor(system.now().getTime() / ERASE_EVERY_MS) % TURNS
  const end = addMs(system.now(), RUN_MAX_MS)
  let after: string = NIL_ID
  while (system.now() < end) {
    // The end of an ID is random.
    const workspaces = await system.sql<{ tenantId: string }>('listWorkspacesOfTurn')`
      select id as tenant_id from workspaces
      where id > ${after} and (get_byte(uuid_send(id), 14) * 256 + get_byte(uuid_send(id), 15)) % ${TURNS}::int = ${turn}
      order by id limit ${WORKSPACES_MAX}`
    await forEachTenant(workspaces, context, async (tenantId) => {
      if (system.now() < end) await eraseInWorkspace(system, tenantId)
    })
    after = workspaces.at(-1)?.tenantId ?? after
    if (workspaces.length < WORKSPACES_MAX) return
  }
}

async function eraseInReceipts(system: SystemScope): Promise<void> {
  let after: string = NIL_ID
  for (;;) {
    const rows = await system.sql<{ userId: string }>('listDeletersOfWorkspaces')`
      select distinct deleted_by as user_id from workspace_deletions
      where deleted_by > ${after} and (address is not null or user_agent is not null) order by 1 limit ${USERS_MAX}`
    const userIds = rows.map(({ userId }) => userId)
    const deleted = await listDeletedUsers(system, userIds)
    if (deleted.length > 0)
      await system.sql('eraseDeletionContexts')`
        update workspace_deletions set address = null, user_agent = null where deleted_by = any(${deleted}::uuid[])`
    after = userIds.at(-1) ?? after
    if (userIds.length < USERS_MAX) return
  }
}

async function eraseInWorkspace(system: SystemScope, tenantId: string): Promise<void> {
  const scope = system.forTenant(tenantId)
  // One probe of the index for each actor, however many events it has.
  const actors = await scope.sql<{ actorId: string }>('listAuditedUsers')`
    with recursive actors as (
      (select actor_id, actor_type from audit_events where tenant_id = ${tenantId} and actor_id > ${NIL_ID}
        order by actor_id limit 1)
      union all
      select next.actor_id, next.actor_type from actors cross join lateral (
        select e.actor_id, e.actor_type from audit_events e where e.tenant_id = ${tenantId} and e.actor_id > actors.actor_id
        order by e.actor_id limit 1) next)
    select actor_id from actors where actor_type = 'user'`
  const deleted = await listDeletedUsers(
    system,
    actors.map(({ actorId }) => actorId),
  )
  for (const userId of deleted) await eraseOfUser(scope, userId, system.portions.purge)
}

/** Erases in short statements, from the oldest event on: no statement reads again what the one before has erased. */
async function eraseOfUser(scope: Scope, userId: string, portion: number): Promise<void> {
  let after = new Date(0)
  for (let statement = 0; statement < STATEMENTS_MAX; statement += 1) {
    const erased = await scope.sql<{ createdAt: Date }>('eraseAuditContexts')`
      update audit_events set address = null, user_agent = null where tenant_id = ${scope.tenantId} and id in (
        select id from audit_events where tenant_id = ${scope.tenantId} and actor_id = ${userId} and created_at >= ${after}
          and (address is not null or user_agent is not null) order by created_at, id limit ${portion})
      returning created_at`
    if (erased.length < portion) return
    after = new Date(Math.max(...erased.map(({ createdAt }) => createdAt.getTime())))
  }
}
