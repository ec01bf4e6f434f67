import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- With the columns of their filters, up to 1,000 matches are counted without reading the rows, which lie far apart.
    drop index conversations_tenant_id_assignee_id_id_open_idx;
    create index conversations_tenant_id_assignee_id_id_open_idx
      on conversations (tenant_id, assignee_id, coalesce(last_message_at, '-infinity'), id)
      include (last_message_at, status) where assignee_id is not null and status <> 'closed';
    drop index conversations_tenant_id_assignee_id_id_unread_idx;
    create index conversations_tenant_id_assignee_id_id_unread_idx
      on conversations (tenant_id, assignee_id, coalesce(last_message_at, '-infinity'), id)
      include (last_message_at, status) where assignee_id is not null and unread_count > 0;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    drop index conversations_tenant_id_assignee_id_id_open_idx;
    create index conversations_tenant_id_assignee_id_id_open_idx
      on conversations (tenant_id, assignee_id, coalesce(last_message_at, '-infinity'), id)
      where assignee_id is not null and status <> 'closed';
    drop index conversations_tenant_id_assignee_id_id_unread_idx;
    create index conversations_tenant_id_assignee_id_id_unread_idx
      on conversations (tenant_id, assignee_id, coalesce(last_message_at, '-infinity'), id)
      where assignee_id is not null and unread_count > 0;
  `)
}
