import type { Knex } from 'knex'
import { IN_YEARS, NEW_ID } from './20260301000000_create_extensions.ts'

/** The list is ordered by the newest message, and conversations without messages come last. */
const NEWEST = `coalesce(last_message_at, '-infinity')`

/**
 * Distributed databases refuse foreign keys that set a column to null if the key has the distribution column. The
 * statements that delete rows set such columns themselves, here and in the other tables.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table conversations (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null default ${NEW_ID},
      contact_id uuid not null,
      channel_id uuid not null,
      status text not null check (status in ('active', 'snoozed', 'closed')),
      assignee_id uuid,
      unread_count integer not null default 0,
      last_message jsonb,
      last_message_at timestamptz(3) check (last_message_at ${IN_YEARS}),
      last_inbound_at timestamptz(3) check (last_inbound_at ${IN_YEARS}),
      window_expires_at timestamptz(3) check (window_expires_at ${IN_YEARS}),
      automation_state text not null default 'on' check (automation_state in ('on', 'paused')),
      automation_reason text check (automation_reason in ('human_reply', 'handoff', 'manual', 'opt_out')),
      automation_until timestamptz(3),
      -- Text of the last handoff for the members. It applies while automation_reason is handoff.
      handoff_reason text,
      snoozed_until timestamptz(3),
      closed_at timestamptz(3),
      reopen_count integer not null default 0,
      created_at timestamptz(3) not null default now() check (created_at ${IN_YEARS}),
      updated_at timestamptz(3) not null default now() check (updated_at ${IN_YEARS}),
      primary key (tenant_id, id),
      unique (tenant_id, channel_id, contact_id),
      foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade,
      foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade,
      foreign key (tenant_id, assignee_id) references memberships (workspace_id, user_id)
    ) with (fillfactor = 80);
    create index conversations_tenant_id_contact_id_idx on conversations (tenant_id, contact_id);
    -- The column itself lets pages far from both ends skip rows within the index.
    create index conversations_tenant_id_id_last_message_at_order_idx
      on conversations (tenant_id, ${NEWEST}, id) include (last_message_at);
    create index conversations_tenant_id_status_id_last_message_idx on conversations (tenant_id, status, ${NEWEST}, id);
    create index conversations_tenant_id_id_unread_idx
      on conversations (tenant_id, ${NEWEST}, id) where unread_count > 0;

    -- The conversations of a member. An assignment to the member with the fewest open conversations counts them. With the
    -- columns of their filters, up to 1,000 matches are counted without reading the rows, which lie far apart.
    create index conversations_tenant_id_assignee_id_id_not_null_idx
      on conversations (tenant_id, assignee_id, ${NEWEST}, id) where assignee_id is not null;
    create index conversations_tenant_id_assignee_id_id_open_idx
      on conversations (tenant_id, assignee_id, ${NEWEST}, id) include (last_message_at, status)
      where assignee_id is not null and status <> 'closed';
    create index conversations_tenant_id_assignee_id_id_unread_idx
      on conversations (tenant_id, assignee_id, ${NEWEST}, id) include (last_message_at, status)
      where assignee_id is not null and unread_count > 0;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table conversations')
}
