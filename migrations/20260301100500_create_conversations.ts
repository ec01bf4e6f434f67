import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table conversations (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      contact_id uuid not null,
      channel_id uuid not null,
      status text not null check (status in ('active', 'snoozed', 'closed')),
      assignee_id uuid,
      unread_count integer not null default 0,
      last_message jsonb,
      last_message_at timestamptz(3),
      last_inbound_at timestamptz(3),
      window_expires_at timestamptz(3),
      automation_state text not null default 'on' check (automation_state in ('on', 'paused')),
      automation_reason text check (automation_reason in ('human_reply', 'handoff', 'manual', 'opt_out')),
      automation_until timestamptz(3),
      snoozed_until timestamptz(3),
      closed_at timestamptz(3),
      reopen_count integer not null default 0,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      primary key (tenant_id, id),
      unique (tenant_id, channel_id, contact_id),
      foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade,
      foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade,
      foreign key (tenant_id, assignee_id) references memberships (workspace_id, user_id) on delete set null (assignee_id)
    ) with (fillfactor = 80);
    create index conversations_tenant_id_last_message_at_id_idx
      on conversations (tenant_id, last_message_at desc nulls last, id desc);
    create index conversations_tenant_id_contact_id_idx on conversations (tenant_id, contact_id);
    create index conversations_tenant_id_assignee_id_not_null_idx on conversations (tenant_id, assignee_id)
      where assignee_id is not null;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table conversations')
}
