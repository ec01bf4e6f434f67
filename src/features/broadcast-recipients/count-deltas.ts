import { type SqlFragment, sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import { forEachTenant } from '../../platform/jobs/for-each-tenant.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { lockCounts } from '../counts/lock-counts.ts'

const BATCH = 5000

/**
 * SQL that records the changes of the statuses of recipients, for the rows of `source` with `broadcast_id`, the `previous`
 * status and the new `status`. The previous status of a new recipient is null.
 */
export function countChangesSql(tenantId: string, source: string): SqlFragment {
  const rows = sqlText(source)
  return sqlFragment`insert into broadcast_count_deltas (tenant_id, broadcast_id, counter, delta)
    select ${tenantId}::uuid, broadcast_id, counter, sum(delta) from (
      select broadcast_id, previous as counter, -1 as delta from ${rows}
      union all select broadcast_id, status, 1 from ${rows}
      union all select broadcast_id, 'total', 1 from ${rows} where previous is null) changed
    where counter is not null group by broadcast_id, counter having sum(delta) <> 0`
}

/**
 * Adds the recorded changes to the counts of the broadcasts, and records the progress of each. A concurrent reader sees
 * each change exactly once. Those of deleted broadcasts are dropped.
 */
export async function rollUpBroadcastCounts(system: SystemScope): Promise<void> {
  const tenants = await system.acrossTenants<{ tenantId: string }>('listTenantsWithBroadcastCounts')`
    select distinct tenant_id from broadcast_count_deltas`
  await forEachTenant(tenants, { log: system.log, task: 'roll up broadcast counts' }, async (tenantId) => {
    for (let taken = BATCH; taken === BATCH;) taken = await system.forTenant(tenantId).transaction(rollUpBatch)
  })
}

async function rollUpBatch(tx: Scope): Promise<number> {
  const { tenantId } = tx
  await lockCounts(tx)
  const rows = await tx.sql<{ broadcastId: string; taken: number }>('rollUpBroadcastCounts')`
    with taken as (
      delete from broadcast_count_deltas where tenant_id = ${tenantId} and seq in (
        select seq from broadcast_count_deltas where tenant_id = ${tenantId} order by seq limit ${BATCH})
      returning broadcast_id, counter, delta),
    changed as (select broadcast_id, count(*)::int as taken from taken group by broadcast_id),
    added as (
      update broadcasts b set counts = (
        select jsonb_object_agg(counter, total) from (
          select counter, sum(delta) as total from (
            select key as counter, value::int as delta from jsonb_each_text(b.counts)
            union all select t.counter, t.delta from taken t where t.broadcast_id = b.id) every
          group by counter) totals)
      from changed where b.tenant_id = ${tenantId} and b.id = changed.broadcast_id)
    select broadcast_id, taken from changed`
  await tx.record(...rows.map(({ broadcastId }) => ({ type: 'broadcast.progress' as const, data: { broadcastId } })))
  return rows.reduce((sum, row) => sum + row.taken, 0)
}
