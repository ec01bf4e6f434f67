import { joinFragments, sqlFragment } from '../../../platform/database/statements/statement.ts'
import { NIL_ID } from '../../../platform/ids.ts'
import type { Scope, SystemScope } from '../../../scope.ts'
import { toTimeText } from '../cursor.ts'
import { type ListRows, walkSql } from '../walk.ts'
import {
  type AnchoredList,
  anchoredBefore,
  anchorJob,
  ANCHORS,
  countedSince,
  ofListSql,
  toListOwnerId,
} from './anchored-list.ts'
import { lockAnchors } from './lock-anchors.ts'

/** Anchors that one transaction adds. The rows up to them are walked by one statement. */
const PORTION = 5

/** The rows of each list by its name. */
export type AnchoredRows = Record<AnchoredList['list'], (ownerId: string) => ListRows>

/**
 * Adds the missing anchors of a list in short transactions, up to the rows that may still get older neighbors. Anchors that
 * were begun a day ago are counted again.
 */
export async function extendAnchors(
  system: SystemScope,
  rowsOf: AnchoredRows,
  { tenantId = '', list: name = '', ownerId = '' }: Record<string, string>,
  signal?: AbortSignal,
): Promise<void> {
  const scope = system.forTenant(tenantId)
  if (!isAnchored(rowsOf, name)) throw new Error(`The list "${name}" has no anchors`)
  const list = { list: name, ownerId }
  // Committed before the first walk: until then, changes of the list are forgotten without a lock.
  await scope.sql('insertFirstAnchor')`
    insert into list_anchors (tenant_id, list, owner_id, value, row_id, count, begun_at)
    values (${tenantId}, ${name}, ${ownerId}, '-infinity', ${NIL_ID}, 0, ${scope.now()}) on conflict do nothing`
  const rows = rowsOf[name](ownerId)
  for (;;) {
    if (signal?.aborted) return scope.enqueue(anchorJob(tenantId, list))
    const added = await scope.transaction((tx) => extendPortion(tx, list, rows))
    if (added < PORTION) return
  }
}

function isAnchored(rowsOf: AnchoredRows, name: string): name is AnchoredList['list'] {
  return Object.hasOwn(rowsOf, name)
}

/**
 * Adds a portion of anchors newer than the last one, and returns their number. Changes that were recorded of newer rows are
 * forgotten: the same statement counts the rows as these changes have left them.
 */
async function extendPortion(tx: Scope, list: AnchoredList, rows: ListRows): Promise<number> {
  const begunAt = await lockAnchors(tx, list)
  if (begunAt === undefined) return 0
  const ofList = ofListSql(tx, list)
  if (begunAt < countedSince(tx.now())) await beginAgain(tx, list)
  const [last] = await tx.sql<{ value: Date | number; id: string }>('findLastAnchor')`
    select value, row_id as id from list_anchors where ${ofList} and row_id <> ${NIL_ID}
    order by value desc, row_id desc limit 1`
  const { value: time } = rows.order
  const isTimed = rows.order.kind === 'time'
  const lastSql = last && sqlFragment`(${toTimeText(last.value)}::timestamptz, ${last.id}::uuid)`
  const isForgotten = lastSql ? sqlFragment`(value, row_id) > ${lastSql}` : sqlFragment`true`
  const isWalked = isTimed
    ? [
        sqlFragment`${time} < ${anchoredBefore(tx.now())}::timestamptz`,
        lastSql ? sqlFragment`(${time}, ${rows.id}) > ${lastSql}` : sqlFragment`${time} > '-infinity'`,
      ]
    : [sqlFragment`${rows.id} > ${last?.id ?? NIL_ID}`]
  const { spacing } = ANCHORS
  const walked = walkSql(tx.tenantId, rows, { direction: 'asc', limit: PORTION * spacing }, isWalked)
  const isUntimed = joinFragments(
    [sqlFragment`t.tenant_id = ${tx.tenantId}`, ...rows.conditions, sqlFragment`${time} = '-infinity'`],
    ' and ',
  )
  const untimed = sqlFragment`untimed as (
    update list_anchors set count = (select count(*) from ${rows.from} t where ${isUntimed})
    where ${ofList} and value = '-infinity' and row_id = ${NIL_ID}),`
  const added = await tx.sql('extendAnchors', { isPrepared: false })`
    with forgotten as (delete from list_changes where ${ofList} and ${isForgotten}),
    ${isTimed && !last ? untimed : sqlFragment``}
    walked as (select id, value, row_number() over (order by value, id) as number from (${walked}) rows)
    insert into list_anchors (tenant_id, list, owner_id, value, row_id, count)
    select ${tx.tenantId}::uuid, ${list.list}, ${toListOwnerId(tx.tenantId, list)}::uuid,
      ${isTimed ? sqlFragment`value` : sqlFragment`'-infinity'::timestamptz`}, id, ${spacing}::int
    from walked where number % ${spacing}::int = 0 returning 1`
  return added.length
}

async function beginAgain(tx: Scope, list: AnchoredList): Promise<void> {
  await tx.sql('deleteAnchors')`delete from list_anchors where ${ofListSql(tx, list)} and row_id <> ${NIL_ID}`
  await tx.sql('beginAnchors')`
    update list_anchors set begun_at = ${tx.now()}, count = 0 where ${ofListSql(tx, list)} and row_id = ${NIL_ID}`
}
