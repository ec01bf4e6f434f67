import type { SystemScope } from '../../scope.ts'

const BATCH = 10_000

/**
 * Adds what has changed to the base of the counts. Whoever counts meanwhile sees a delta either as it was or added, and
 * two who fold at once take different ones. What is left of workflows that are gone is dropped.
 */
export async function rollUpRunCounts(system: SystemScope): Promise<void> {
  for (let folded = BATCH; folded === BATCH;) folded = await foldBatch(system)
}

async function foldBatch(system: SystemScope): Promise<number> {
  const { rows } = await system.db.raw<{ rows: { folded: number }[] }>(
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
     select count(*)::int as folded from taken`,
    [BATCH],
  )
  return rows[0]?.folded ?? 0
}
