import { forEachTenant } from '../../platform/jobs/for-each-tenant.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { lockCounts } from './lock-counts.ts'

const BATCH = 10_000

/**
 * Adds the recorded changes to the counts. A concurrent reader sees each change exactly once, in one table or the other.
 * Changes of deleted counters are dropped.
 */
export async function rollUpCounts(system: SystemScope): Promise<void> {
  const tenants = await system.acrossTenants<{ tenantId: string }>('findTenantsWithCountDeltas')`
    select distinct tenant_id from count_deltas`
  await forEachTenant(tenants, { log: system.log, task: 'roll up counts' }, async (tenantId) => {
    for (let taken = BATCH; taken === BATCH;) taken = await system.forTenant(tenantId).transaction(rollUpBatch)
  })
}

async function rollUpBatch(tx: Scope): Promise<number> {
  const { tenantId } = tx
  await lockCounts(tx)
  const [row] = await tx.sql<{ taken: number }>('rollUpCounts')`
    with taken as (
      delete from count_deltas where tenant_id = ${tenantId} and seq in (
        select seq from count_deltas where tenant_id = ${tenantId} order by seq limit ${BATCH})
      returning counter, owner_id, delta),
    summed as (
      select counter, owner_id, sum(delta) as delta from taken group by counter, owner_id having sum(delta) <> 0),
    added as (
      update counts set count = counts.count + summed.delta from summed
      where counts.tenant_id = ${tenantId} and counts.counter = summed.counter and counts.owner_id = summed.owner_id)
    select count(*)::int as taken from taken`
  return row?.taken ?? 0
}
