import { toRecordset } from '../../platform/database/sql.ts'
import { forEachTenant } from '../../platform/jobs/for-each-tenant.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { lockCounts } from '../counts/lock-counts.ts'

const BATCH = 10_000

/**
 * Adds the recorded deltas to the base counts. A concurrent count sees each delta exactly once, in one table or the other.
 * Deltas of deleted workflows are dropped.
 */
export async function rollUpRunCounts(system: SystemScope): Promise<void> {
  const tenants = await system.acrossTenants<{ tenantId: string }>('listTenantsWithRunCounts')`
    select distinct tenant_id from run_count_deltas`
  await forEachTenant(tenants, { log: system.log, task: 'roll up run counts' }, async (tenantId) => {
    for (let count = BATCH; count === BATCH;) count = await system.forTenant(tenantId).transaction(rollUpBatch)
  })
}

type Delta = { workflowId: string; version: number; status: string; delta: number }

async function rollUpBatch(tx: Scope): Promise<number> {
  await lockCounts(tx)
  const deltas = await tx.sql<Delta>('takeRunCounts')`
    with taken as (
      select seq from run_count_deltas where tenant_id = ${tx.tenantId} order by seq limit ${BATCH})
    delete from run_count_deltas d using taken where d.tenant_id = ${tx.tenantId} and d.seq = taken.seq
    returning d.workflow_id, d.version, d.status, d.delta`
  if (deltas.length === 0) return 0
  await tx.sql('addRunCounts')`
    insert into run_counts (tenant_id, workflow_id, version, status, count)
    select ${tx.tenantId}::uuid, workflow_id, version, status, sum(delta)
    from jsonb_to_recordset(${toRecordset(deltas)}::jsonb) as x (workflow_id uuid, version int, status text, delta int)
    where workflow_id in (select id from workflows where tenant_id = ${tx.tenantId})
    group by workflow_id, version, status having sum(delta) <> 0 order by workflow_id, version, status
    on conflict (tenant_id, workflow_id, version, status) do update set count = run_counts.count + excluded.count`
  return deltas.length
}
