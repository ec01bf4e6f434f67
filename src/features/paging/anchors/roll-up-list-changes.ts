import { NIL_ID } from '../../../platform/ids.ts'
import { forEachTenant } from '../../../platform/jobs/for-each-tenant.ts'
import type { Scope, SystemScope } from '../../../scope.ts'
import { type AnchoredList, ANCHORS, ofListSql } from './anchored-list.ts'
import { lockAnchors } from './lock-anchors.ts'

const BATCH = 10_000

/**
 * Adds the recorded changes of lists to their anchors: each to the next newer one. A change newer than the last anchor is
 * forgotten, as anchors that are added there count the rows themselves. A concurrent reader sees each change exactly once.
 */
export async function rollUpListChanges(system: SystemScope): Promise<void> {
  const tenants = await system.acrossTenants<{ tenantId: string }>('findTenantsWithListChanges')`
    select distinct tenant_id from list_changes`
  await forEachTenant(tenants, { log: system.log, task: 'roll up list changes' }, (tenantId) =>
    rollUpTenant(system.forTenant(tenantId)),
  )
}

async function rollUpTenant(scope: Scope): Promise<void> {
  const { tenantId } = scope
  await scope.sql('forgetListChanges')`
    delete from list_changes change where tenant_id = ${tenantId} and not exists (
      select from list_anchors anchor
      where anchor.tenant_id = ${tenantId} and anchor.list = change.list and anchor.owner_id = change.owner_id)`
  const lists = await scope.sql<AnchoredList>('findListsWithChanges')`
    select distinct list, owner_id from list_changes where tenant_id = ${tenantId}`
  for (const list of lists) {
    for (let taken = BATCH; taken === BATCH;) taken = await scope.transaction((tx) => rollUpBatch(tx, list))
  }
}

async function rollUpBatch(tx: Scope, list: AnchoredList): Promise<number> {
  if (!(await lockAnchors(tx, list))) return 0
  const ofList = ofListSql(tx, list)
  const [row] = await tx.sql<{ taken: number }>('rollUpListChanges')`
    with taken as (
      delete from list_changes where ${ofList} and seq in (
        select seq from list_changes where ${ofList} order by value, row_id limit ${BATCH})
      returning value, row_id, delta),
    added as (
      update list_anchors anchor set count = anchor.count + summed.delta
      from (
        select next.value, next.row_id, sum(taken.delta) as delta
        from taken cross join lateral (
          select value, row_id from list_anchors
          where ${ofList} and (value, row_id) >= (taken.value, taken.row_id) order by value, row_id limit 1) next
        group by next.value, next.row_id) summed
      where ${ofList} and anchor.value = summed.value and anchor.row_id = summed.row_id)
    select count(*)::int as taken from taken`
  await thinOut(tx, list)
  return row?.taken ?? 0
}

/**
 * Deletes anchors that few rows are left before, and adds their rows to the next one: of the anchors in one spacing, the
 * last stays.
 */
async function thinOut(tx: Scope, list: AnchoredList): Promise<void> {
  const ofList = ofListSql(tx, list)
  await tx.sql('thinOutAnchors')`
    with ranked as (
      select value, row_id, count, sum(count) over (order by value, row_id) as rank
      from list_anchors where ${ofList} and row_id <> ${NIL_ID}),
    compared as (
      select *, lead(div(rank - 1, ${ANCHORS.spacing}::int)) over (order by value, row_id)
        is distinct from div(rank - 1, ${ANCHORS.spacing}::int) as stays
      from ranked),
    stayed as (
      select value, row_id, count, rank - lag(rank, 1, 0) over (order by value, row_id) as new_count
      from compared where stays),
    dropped as (
      delete from list_anchors anchor using compared
      where ${ofList} and not compared.stays and anchor.value = compared.value and anchor.row_id = compared.row_id)
    update list_anchors anchor set count = stayed.new_count from stayed
    where ${ofList} and anchor.value = stayed.value and anchor.row_id = stayed.row_id
      and stayed.new_count <> stayed.count`
}
