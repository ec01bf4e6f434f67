import { sqlFragment, type SqlFragment } from '../../../platform/database/statements/statement.ts'
import { NIL_ID } from '../../../platform/ids.ts'
import type { Scope } from '../../../scope.ts'
import type { Direction } from '../walk.ts'
import { type AnchoredList, countedSince, ofListSql } from './anchored-list.ts'

/** Row of a list at a known place. `rank` is the number of rows up to and including it, from the oldest one. */
export type Anchor = { value: Date | number; id: string; rank: number }

type Found = { total: number; isOutdated: boolean }
type Row = Found & { [Key in keyof Anchor]: Anchor[Key] | null }

/**
 * Finds the anchor from which the walk to a page is shortest, in the direction of the list: the one before the page that is
 * nearest to it. Returns the total of the list with it, as of the same time, and whether the anchors have to be counted again.
 */
export async function findAnchor(
  scope: Scope,
  list: AnchoredList,
  { total, offset, direction }: { total: SqlFragment; offset: number; direction: Direction },
): Promise<Found & { anchor: Anchor | undefined }> {
  const isBefore =
    direction === 'asc'
      ? sqlFragment`rank <= ${offset}::int order by rank desc, value desc, row_id desc`
      : sqlFragment`rank >= counted.total - ${offset}::int order by rank, value, row_id`
  const [row] = await scope.sql<Row>('findAnchor')`
    with counted as materialized (select ${total} as total),
    steps as (
      select value, row_id, count as rows, true as is_anchor from list_anchors where ${ofListSql(scope, list)}
      union all select value, row_id, delta, false from list_changes where ${ofListSql(scope, list)}),
    ranked as (select value, row_id, is_anchor, (sum(rows) over (order by value, row_id))::int as rank from steps)
    select counted.total, exists (
      select from list_anchors where ${ofListSql(scope, list)} and value = '-infinity' and row_id = ${NIL_ID}
        and begun_at < ${countedSince(scope.now())}::timestamptz) as is_outdated, anchor.value, anchor.row_id as id, anchor.rank
    from counted left join lateral (
      select value, row_id, rank from ranked where is_anchor and row_id <> ${NIL_ID} and ${isBefore} limit 1) anchor on true`
  if (!row) return { total: 0, isOutdated: false, anchor: undefined }
  const { isOutdated, value, id, rank } = row
  const isFound = value !== null && id !== null && rank !== null
  return { total: row.total, isOutdated, anchor: isFound ? { value, id, rank } : undefined }
}
