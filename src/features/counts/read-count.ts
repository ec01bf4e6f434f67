import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import { type Counter, countByKeySql, countRowsSql } from './counter.ts'

/**
 * Returns the SQL of the number of rows of a counter, exactly as of now: the kept number, or the rows counted if none is
 * kept. `ownerId` is the ID it is stored under, or the SQL of it.
 */
export function countSql(tenantId: string, counter: Counter, ownerId: string | SqlFragment): SqlFragment {
  return sqlFragment`coalesce(${keptCountSql(tenantId, counter, ownerId)}, ${countRowsSql(tenantId, counter, ownerId)})`
}

/** Returns the SQL of the number that triggers keep, exactly as of the statement's snapshot; null if none is kept. */
export function keptCountSql(tenantId: string, counter: Counter, ownerId: string | SqlFragment): SqlFragment {
  return keptSumSql(tenantId, counter, sqlFragment`owner_id = ${ownerId}`)
}

/** Returns the SQL of the sum of the kept numbers whose `owner_id` and `key` meet a condition; null if none is kept. */
export function keptSumSql(tenantId: string, counter: Counter, condition: SqlFragment): SqlFragment {
  return sqlFragment`(case when ${isKeptSql(tenantId, counter)} then (
    select coalesce(sum(n), 0) from (${keptRowsSql(tenantId, counter, condition)}) numbers) end)::int`
}

/**
 * Returns the SQL of the numbers of an owner by their keys, as an object, exactly as of now: the kept ones, or the rows
 * counted if none are kept. `ownerId` is the SQL of its ID.
 */
export function countsByKeySql(tenantId: string, counter: Counter, ownerId: SqlFragment): SqlFragment {
  const kept = keptRowsSql(tenantId, counter, sqlFragment`owner_id = ${ownerId}`)
  return sqlFragment`(
    select coalesce(jsonb_object_agg(key, total), '{}') from (
      select key, sum(n) as total from (${kept}) numbers where ${isKeptSql(tenantId, counter)} group by key
      union all
      select key, n from (${countByKeySql(tenantId, counter, ownerId)}) rows where not ${isKeptSql(tenantId, counter)}) by_key)`
}

/** Returns the SQL that is true if triggers keep a counter of a workspace. */
function isKeptSql(tenantId: string, counter: Counter): SqlFragment {
  return sqlFragment`exists (
    select from kept_counts mark where mark.tenant_id = ${tenantId} and mark.counter = ${counter}
      and mark.owner_id = ${tenantId} and mark.key = '' and mark.counted_at is not null)`
}

/** Returns the SQL of rows with a `key` and a number `n` of it; the numbers of a key add up to that of the rows. */
function keptRowsSql(tenantId: string, counter: Counter, condition: SqlFragment): SqlFragment {
  return sqlFragment`
    select key, count as n from kept_counts where tenant_id = ${tenantId} and counter = ${counter} and ${condition}
    union all
    select key, delta from kept_count_deltas where tenant_id = ${tenantId} and counter = ${counter} and ${condition}`
}

/** Returns what a list of all rows of a counter shows as its total, and from which number its pages are found. */
export function toListTotal(tenantId: string, counter: Counter, ownerId: string) {
  return { total: countSql(tenantId, counter, ownerId), kept: keptCountSql(tenantId, counter, ownerId) }
}
