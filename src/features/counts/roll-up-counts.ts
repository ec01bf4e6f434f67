import type { Scope, SystemScope } from '../../scope.ts'

const BATCH = 10_000

/**
 * Adds the recorded changes to the counts. A concurrent reader sees each change exactly once, in one table or the other, and
 * concurrent roll-ups take different changes.
 */
export async function rollUpCounts(system: SystemScope): Promise<void> {
  const tenants = await system.acrossTenants<{ tenantId: string }>('findTenantsWithCountDeltas')`
    select distinct tenant_id from count_deltas`
  for (const { tenantId } of tenants) {
    const scope = system.forTenant(tenantId)
    for (let taken = BATCH; taken === BATCH;) taken = await rollUpBatch(scope)
  }
}

async function rollUpBatch(scope: Scope): Promise<number> {
  const { tenantId } = scope
  const [row] = await scope.sql<{ taken: number }>('rollUpCounts')`
    with taken as (
      delete from count_deltas where tenant_id = ${tenantId} and seq in (
        select seq from count_deltas where tenant_id = ${tenantId} order by seq limit ${BATCH} for update skip locked)
      returning counter, owner_id, delta),
    added as (
      insert into counts as base (tenant_id, counter, owner_id, count)
      select ${tenantId}::uuid, counter, owner_id, sum(delta) from taken
      group by counter, owner_id order by counter, owner_id
      on conflict (tenant_id, counter, owner_id) do update set count = base.count + excluded.count)
    select count(*)::int as taken from taken`
  return row?.taken ?? 0
}
