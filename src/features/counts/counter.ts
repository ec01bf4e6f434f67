import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'

/**
 * Kept numbers of rows. The contacts, conversations, groups and broadcasts of a workspace have one counter each, which is
 * stored under the ID of the workspace, and so have the contacts of each tag and group, stored under its ID. Triggers keep
 * them for all programs that write rows. A distributed database has no triggers: there the rows are counted.
 */
export type Counter = 'contacts' | 'conversations' | 'groups' | 'broadcasts' | 'tag_contacts' | 'group_contacts'

type Rows = {
  table: SqlFragment
  /** Column with the ID of the tag or group; undefined if all rows of the workspace are counted. */
  owner?: SqlFragment
}

const COUNTED: Record<Counter, Rows> = {
  contacts: { table: sqlFragment`contacts` },
  conversations: { table: sqlFragment`conversations` },
  groups: { table: sqlFragment`groups` },
  broadcasts: { table: sqlFragment`broadcasts` },
  tag_contacts: { table: sqlFragment`contact_tags`, owner: sqlFragment`tag_id` },
  group_contacts: { table: sqlFragment`group_contacts`, owner: sqlFragment`group_id` },
}

/** Returns the SQL that counts the rows of a counter. `ownerId` is the ID of its tag or group, or the SQL of it. */
export function countRowsSql(tenantId: string, counter: Counter, ownerId: string | SqlFragment): SqlFragment {
  const { table, owner } = COUNTED[counter]
  const ofOwner = owner ? sqlFragment` and counted.${owner} = ${ownerId}` : sqlFragment``
  return sqlFragment`(select count(*)::int from ${table} counted where counted.tenant_id = ${tenantId}${ofOwner})`
}
