import { forEachTenant } from '../../platform/jobs/for-each-tenant.ts'
import { NIL_ID } from '../../platform/ids.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { listDeletedUsers } from '../auth/two-factors.ts'

const WORKSPACES_MAX = 1000
/** Statements per workspace and run. What is left is erased by the next run. */
const STATEMENTS_MAX = 200

/** Erases the addresses and user agents of deleted accounts from audit events, which would tell of their owners. */
export async function eraseDeletedAccounts(system: SystemScope): Promise<void> {
  const context = { log: system.log, task: 'erase deleted accounts' }
  let after: string = NIL_ID
  for (;;) {
    const workspaces = await system.sql<{ tenantId: string }>('listWorkspaceIds')`
      select id as tenant_id from workspaces where id > ${after} order by id limit ${WORKSPACES_MAX}`
    await forEachTenant(workspaces, context, (tenantId) => eraseInWorkspace(system, tenantId))
    after = workspaces.at(-1)?.tenantId ?? after
    if (workspaces.length < WORKSPACES_MAX) return
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
  if (deleted.length === 0) return
  for (let portion = 0; portion < STATEMENTS_MAX; portion += 1) {
    const erased = await scope.sql('eraseAuditContexts')`
      update audit_events set address = null, user_agent = null where tenant_id = ${tenantId} and id in (
        select id from audit_events where tenant_id = ${tenantId} and actor_id = any(${deleted}::uuid[])
          and (address is not null or user_agent is not null) limit ${system.portions.purge})
      returning 1`
    if (erased.length < system.portions.purge) return
  }
}
