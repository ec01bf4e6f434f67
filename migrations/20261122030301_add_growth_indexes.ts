import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Without a condition: PostgreSQL gathers statistics of an expression only by such an index, and without them expects
    -- any search to find half a percent of the contacts.
    drop index contacts_tenant_id_email_prefix_idx;
    create index contacts_tenant_id_email_prefix_idx on contacts (tenant_id, lower(email) text_pattern_ops);
    analyze contacts;

    -- The open conversations of a member. An assignment to the member with the fewest open conversations counts them.
    create index conversations_tenant_id_assignee_id_id_open_idx
      on conversations (tenant_id, assignee_id, coalesce(last_message_at, '-infinity'), id)
      where assignee_id is not null and status <> 'closed';
    create index conversations_tenant_id_assignee_id_id_unread_idx
      on conversations (tenant_id, assignee_id, coalesce(last_message_at, '-infinity'), id)
      where assignee_id is not null and unread_count > 0;

    -- The column itself lets pages far from both ends skip rows within the index.
    drop index conversations_tenant_id_id_last_message_idx;
    create index conversations_tenant_id_id_last_message_at_order_idx
      on conversations (tenant_id, coalesce(last_message_at, '-infinity'), id) include (last_message_at);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    drop index conversations_tenant_id_id_last_message_at_order_idx;
    create index conversations_tenant_id_id_last_message_idx
      on conversations (tenant_id, coalesce(last_message_at, '-infinity'), id);
    drop index conversations_tenant_id_assignee_id_id_unread_idx, conversations_tenant_id_assignee_id_id_open_idx;
    drop index contacts_tenant_id_email_prefix_idx;
    create index contacts_tenant_id_email_prefix_idx on contacts (tenant_id, lower(email) text_pattern_ops)
      where email is not null;
  `)
}
