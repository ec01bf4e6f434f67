import { forEachTenant } from '../../platform/jobs/for-each-tenant.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'

const BATCH = 5000

/**
 * Numbers the committed events of the workspace that have no position yet, and returns the position of the last one. A
 * transaction that commits later gets later positions, however long it was open, so a reader that has read up to a
 * position never misses an event before it. Only readers wait for each other here.
 */
export async function numberEvents(scope: Scope): Promise<number> {
  for (;;) {
    const [state] = await scope.sql<{ position: number; hasNew: boolean }>('readEventPosition')`
    select p.position, exists (
        select from events e where e.tenant_id = ${scope.tenantId} and e.position is null) as has_new
      from event_positions p where p.tenant_id = ${scope.tenantId}`
    if (state && !state.hasNew) return state.position
    const { position, count } = await scope.transaction(numberBatch)
    if (count < BATCH) return position
  }
}

async function numberBatch(tx: Scope): Promise<{ position: number; count: number }> {
  // The lock is a statement of its own: what is read after it includes the commit of the previous holder.
  const [last] = await tx.sql<{ position: number }>('lockEventPosition')`
    insert into event_positions (tenant_id, position) values (${tx.tenantId}, 0)
    on conflict (tenant_id) do update set position = event_positions.position returning position`
  const position = last?.position ?? 0
  const numbered = await tx.sql('numberEvents')`
    update events e set position = ${position}::bigint + unnumbered.index
    from (select id, row_number() over (order by id) as index from events
      where tenant_id = ${tx.tenantId} and position is null order by id limit ${BATCH}) unnumbered
    where e.tenant_id = ${tx.tenantId} and e.id = unnumbered.id returning e.id`
  const count = numbered.length
  if (count > 0) {
    await tx.sql('saveEventPosition')`
    update event_positions set position = ${position + count} where tenant_id = ${tx.tenantId}`
  }
  return { position: position + count, count }
}

/** Numbers the events of workspaces that nobody follows, so that a new follower does not have to number many. */
export async function numberUnfollowedEvents(system: SystemScope): Promise<void> {
  const tenants = await system.acrossTenants<{ tenantId: string }>('listTenantsWithNewEvents')`
    select distinct tenant_id from events where position is null`
  await forEachTenant(tenants, { log: system.log, task: 'number events' }, (tenantId) =>
    numberEvents(system.forTenant(tenantId)),
  )
}
