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

/** Returns the SQL that counts the rows of an owner by their keys: of the workspace, or the ID of another one or its SQL. */
export function countRowsSql(tenantId: string, counter: Counter, ownerId: string | SqlFragment): SqlFragment {
  return sqlFragment`(select count(*)::int from ${COUNTED[counter].table} counted where ${isOfOwner(tenantId, counter, ownerId)})`
}

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

/** The workspace is named as a constant, which finds the node of a distributed database. */
function isOfOwner(tenantId: string, counter: Counter, ownerId: string | SqlFragment): SqlFragment {
  const isOfTenant = sqlFragment`counted.tenant_id = ${tenantId}`
  return ownerId === tenantId
    ? isOfTenant
    : sqlFragment`${isOfTenant} and counted.${COUNTED[counter].owner} = ${ownerId}`
}
