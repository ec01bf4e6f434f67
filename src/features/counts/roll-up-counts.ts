import { forEachTenant } from '../../platform/jobs/for-each-tenant.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import type { Counter } from './counter.ts'
import { lockCounts } from './lock-counts.ts'

const BATCH = 10_000

/**
 * Adds the recorded changes to the kept numbers, of all workspaces or of those in which a counter has changed, and records
 * the progress of broadcasts. A concurrent reader sees each change exactly once, in one table or the other.
 */
export async function rollUpCounts(system: SystemScope, changed: Counter | null = null): Promise<void> {
  const tenants = await system.acrossTenants<{ tenantId: string }>('findTenantsWithCountDeltas')`
    select distinct tenant_id from kept_count_deltas where ${changed}::text is null or counter = ${changed}`
  await forEachTenant(tenants, { log: system.log, task: 'roll up counts' }, async (tenantId) => {
    for (let taken = BATCH; taken === BATCH;) taken = await system.forTenant(tenantId).transaction(rollUpBatch)
  })
}

/** The last changes of a deleted workspace or broadcast are dropped. */
async function rollUpBatch(tx: Scope): Promise<number> {
  const { tenantId } = tx
  await lockCounts(tx)
  const [row] = await tx.sql<{ taken: number; hasZero: boolean; broadcastIds: string[] }>('rollUpCounts')`
    with taken as (
      delete from kept_count_deltas where tenant_id = ${tenantId} and seq in (
        select seq from kept_count_deltas where tenant_id = ${tenantId} order by seq limit ${BATCH})
      returning counter, owner_id, key, delta),
    added as (
      insert into kept_counts (tenant_id, counter, owner_id, key, count)
      select ${tenantId}::uuid, counter, owner_id, key, sum(delta) from taken
      where exists (select from workspaces where id = ${tenantId})
      group by counter, owner_id, key having sum(delta) <> 0
      on conflict (tenant_id, counter, owner_id, key) do update set count = kept_counts.count + excluded.count
      returning count)
    select count(*)::int as taken, exists (select from added where count = 0) as has_zero, array(
      select id from broadcasts
      where tenant_id = ${tenantId} and id in (select owner_id from taken where counter = 'recipients')) as broadcast_ids
    from taken`
  if (row?.hasZero)
    await tx.sql('dropZeroCounts')`
      delete from kept_counts where tenant_id = ${tenantId} and count = 0 and counted_at is null`
  const progress = (row?.broadcastIds ?? []).map((broadcastId) => ({
    type: 'broadcast.progress' as const,
    data: { broadcastId },
  }))
  await tx.record(...progress)
  return row?.taken ?? 0
}
