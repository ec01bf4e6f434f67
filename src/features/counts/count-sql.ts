import { joinFragments, sqlFragment, type SqlFragment, sqlText } from '../../platform/database/statements/statement.ts'

/**
 * Kept numbers of rows. The contacts, conversations, groups and broadcasts of a workspace are counted under the ID of the
 * workspace, the contacts of a tag or group under its ID. Runs are counted by their workflow and the key
 * `<version>:<status>`, recipients by their broadcast under `total`, their status, `accepted`, `replied` and `optedOut`.
 * Triggers keep the numbers for all programs that write rows. A distributed database has no triggers: there the rows are
 * counted.
 */
export type Counter =
  'contacts' | 'conversations' | 'groups' | 'broadcasts' | 'tag_contacts' | 'group_contacts' | 'runs' | 'recipients'

type Rows = {
  table: SqlFragment
  /** Column with the ID under which a row is counted. */
  owner: SqlFragment
  /** The keys of a row, each of which may be null. Without keys a row is counted once. */
  keys?: SqlFragment[]
}

const COUNTED: Record<Counter, Rows> = {
  contacts: { table: sqlFragment`contacts`, owner: sqlFragment`tenant_id` },
  conversations: { table: sqlFragment`conversations`, owner: sqlFragment`tenant_id` },
  groups: { table: sqlFragment`groups`, owner: sqlFragment`tenant_id` },
  broadcasts: { table: sqlFragment`broadcasts`, owner: sqlFragment`tenant_id` },
  tag_contacts: { table: sqlFragment`contact_tags`, owner: sqlFragment`tag_id` },
  group_contacts: { table: sqlFragment`group_contacts`, owner: sqlFragment`group_id` },
  runs: {
    table: sqlFragment`runs`,
    owner: sqlFragment`workflow_id`,
    keys: [sqlFragment`counted.workflow_version || ':' || counted.status`],
  },
  recipients: {
    table: sqlFragment`broadcast_recipients`,
    owner: sqlFragment`broadcast_id`,
    keys: [
      sqlFragment`'total'`,
      sqlFragment`counted.status`,
      sqlFragment`case when counted.accepted_count > 0 then 'accepted' end`,
      sqlFragment`case when counted.replied_at is not null then 'replied' end`,
      sqlFragment`case when counted.opted_out_at is not null then 'optedOut' end`,
    ],
  },
}

export const COUNTERS = Object.keys(COUNTED) as Counter[]

/** Returns the SQL of the `owner_id`, `key` and number `n` of all rows of a counter, or of those of one owner. */
export function countByKeySql(tenantId: string, counter: Counter, ownerId?: string | SqlFragment): SqlFragment {
  const { table, owner, keys = [sqlFragment`''`] } = COUNTED[counter]
  const isCounted =
    ownerId === undefined ? sqlFragment`counted.tenant_id = ${tenantId}` : isOfOwner(tenantId, counter, ownerId)
  const names = keys.map((_, index) => sqlText(`key_${index}`))
  const columns = keys.map((key, index) => sqlFragment`${key} as ${names[index] ?? key}`)
  const values = names.map((name) => sqlFragment`(${name})`)
  // Rows of equal keys are few numbers, of which each is added up several times.
  return sqlFragment`select owner_id, by_key.key, sum(rows) as n
    from (
      select counted.${owner} as owner_id, ${joinFragments(columns, ', ')}, count(*) as rows
      from ${table} counted where ${isCounted} group by counted.${owner}, ${joinFragments(names, ', ')}) grouped
    cross join lateral (values ${joinFragments(values, ', ')}) by_key (key)
    where by_key.key is not null group by 1, 2`
}

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

/** Returns what a list of all rows of a counter shows as its total, and from which number its pages are found. */
export function toListTotal(tenantId: string, counter: Counter, ownerId: string) {
  return { total: countSql(tenantId, counter, ownerId), kept: keptCountSql(tenantId, counter, ownerId) }
}

/** The workspace is named as a constant, which finds the node of a distributed database. */
function isOfOwner(tenantId: string, counter: Counter, ownerId: string | SqlFragment): SqlFragment {
  const isOfTenant = sqlFragment`counted.tenant_id = ${tenantId}`
  return ownerId === tenantId
    ? isOfTenant
    : sqlFragment`${isOfTenant} and counted.${COUNTED[counter].owner} = ${ownerId}`
}

/** Returns the SQL that counts the rows of an owner by their keys: of the workspace, or the ID of another one or its SQL. */
function countRowsSql(tenantId: string, counter: Counter, ownerId: string | SqlFragment): SqlFragment {
  return sqlFragment`(select count(*)::int from ${COUNTED[counter].table} counted where ${isOfOwner(tenantId, counter, ownerId)})`
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
