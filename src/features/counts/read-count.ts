import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import { type Counter, countRowsSql } from './counter.ts'

/**
 * Returns the SQL of the number of rows of a counter, exactly as of now: the kept number, or the rows counted if none is
 * kept. `ownerId` is the ID it is stored under, or the SQL of it.
 */
export function countSql(tenantId: string, counter: Counter, ownerId: string | SqlFragment): SqlFragment {
  return sqlFragment`coalesce(${keptCountSql(tenantId, counter, ownerId)}, ${countRowsSql(tenantId, counter, ownerId)})`
}

/** Returns the SQL of the number that triggers keep, exactly as of the statement's snapshot; null if none is kept. */
export function keptCountSql(tenantId: string, counter: Counter, ownerId: string | SqlFragment): SqlFragment {
  return sqlFragment`(
    select kept.count + (
      select coalesce(sum(change.delta), 0) from count_deltas change
      where change.tenant_id = ${tenantId} and change.counter = ${counter} and change.owner_id = ${ownerId})
    from counts kept
    where kept.tenant_id = ${tenantId} and kept.counter = ${counter} and kept.owner_id = ${ownerId}
      and kept.counted_at is not null)::int`
}

/** Returns what a list of all rows of a counter shows as its total, and from which number its pages are found. */
export function toListTotal(tenantId: string, counter: Counter, ownerId: string) {
  return { total: countSql(tenantId, counter, ownerId), kept: keptCountSql(tenantId, counter, ownerId) }
}
