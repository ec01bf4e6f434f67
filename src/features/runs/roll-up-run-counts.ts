import { selectRows } from '../../platform/database/sql.ts'
import type { SystemScope } from '../../scope.ts'

const BATCH = 10_000

/**
 * Adds the recorded deltas to the base counts. A concurrent count sees each delta exactly once, in one table or the other,
 * and concurrent roll-ups take different deltas. Deltas of deleted workflows are dropped.
 */
export async function rollUpRunCounts(system: SystemScope): Promise<void> {
  for (let count = BATCH; count === BATCH;) count = await rollUpBatch(system)
}

async function rollUpBatch(system: SystemScope): Promise<number> {
  const [row] = await selectRows<{ count: number }>(
    system.db,
    `with taken as (
       delete from run_count_deltas where (tenant_id, seq) in (
         select tenant_id, seq from run_count_deltas order by tenant_id, seq limit ? for update skip locked)
       returning tenant_id, workflow_id, version, status, delta),
     added as (
       insert into run_counts as base (tenant_id, workflow_id, version, status, count)
       select t.tenant_id, t.workflow_id, t.version, t.status, sum(t.delta) from taken t
       join workflows w on w.tenant_id = t.tenant_id and w.id = t.workflow_id
       group by 1, 2, 3, 4 having sum(t.delta) <> 0 order by 1, 2, 3, 4
       on conflict (tenant_id, workflow_id, version, status) do update set count = base.count + excluded.count)
     select count(*)::int as count from taken`,
    [BATCH],
  )
  return row?.count ?? 0
}
