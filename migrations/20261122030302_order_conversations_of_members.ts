import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- The conversations of a member in the order of the list.
    create index conversations_tenant_id_assignee_id_id_not_null_idx
      on conversations (tenant_id, assignee_id, coalesce(last_message_at, '-infinity'), id) where assignee_id is not null;
    drop index conversations_tenant_id_assignee_id_not_null_idx;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create index conversations_tenant_id_assignee_id_not_null_idx on conversations (tenant_id, assignee_id)
      where assignee_id is not null;
    drop index conversations_tenant_id_assignee_id_id_not_null_idx;
  `)
}
