import type { Database } from '../../platform/database/database.ts'
import { createSqlTag } from '../../platform/database/sql.ts'
import { assertNamesTenant, sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'

/**
 * Sets the counters of a workspace to the numbers of its rows, and forgets the anchors of its lists. For rows that were
 * inserted in bulk, without `recordCounts`, while nothing else reads or writes the workspace.
 */
export async function recount(db: Database, tenantId: string): Promise<void> {
  await createSqlTag(db, 'recount', (statement) => assertNamesTenant(statement, tenantId))`${recountSql(tenantId)}`
}

export function recountSql(tenantId: string): SqlFragment {
  return sqlFragment`
    with deltas as (delete from count_deltas where tenant_id = ${tenantId}),
    anchors as (delete from list_anchors where tenant_id = ${tenantId}),
    changes as (delete from list_changes where tenant_id = ${tenantId}),
    counted as (
      select 'contacts' as counter, tenant_id as owner_id, count(*) as n from contacts
      where tenant_id = ${tenantId} group by tenant_id
      union all
      select 'conversations', tenant_id, count(*) from conversations where tenant_id = ${tenantId} group by tenant_id
      union all select 'groups', tenant_id, count(*) from groups where tenant_id = ${tenantId} group by tenant_id
      union all select 'broadcasts', tenant_id, count(*) from broadcasts where tenant_id = ${tenantId} group by tenant_id
      union all select 'tag_contacts', tag_id, count(*) from contact_tags where tenant_id = ${tenantId} group by tag_id
      union all
      select 'group_contacts', group_id, count(*) from group_contacts where tenant_id = ${tenantId} group by group_id)
    insert into counts (tenant_id, counter, owner_id, count)
    select ${tenantId}::uuid, counter, owner_id, n from counted
    on conflict (tenant_id, counter, owner_id) do update set count = excluded.count`
}
