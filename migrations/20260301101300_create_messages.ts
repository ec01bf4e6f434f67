import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table messages (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      conversation_id uuid not null,
      contact_id uuid not null,
      channel_id uuid not null,
      direction text not null check (direction in ('inbound', 'outbound')),
      type text not null,
      body text,
      content jsonb,
      status text not null check (status in
        ('received', 'queued', 'sending', 'sent', 'delivered', 'read', 'played', 'failed', 'canceled')),
      error jsonb,
      sender jsonb not null,
      run_id uuid,
      step_id text,
      broadcast_id uuid,
      reply_to_id uuid,
      provider_message_id text,
      provider_at timestamptz(3),
      sent_at timestamptz(3),
      delivered_at timestamptz(3),
      read_at timestamptz(3),
      failed_at timestamptz(3),
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      primary key (tenant_id, id),
      foreign key (tenant_id, conversation_id) references conversations (tenant_id, id) on delete cascade,
      foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade,
      foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade,
      foreign key (tenant_id, run_id) references runs (tenant_id, id) on delete set null (run_id),
      foreign key (tenant_id, broadcast_id) references broadcasts (tenant_id, id) on delete set null (broadcast_id),
      foreign key (tenant_id, reply_to_id) references messages (tenant_id, id) on delete set null (reply_to_id)
    ) with (fillfactor = 85);
    create index messages_conversation on messages (tenant_id, conversation_id, created_at desc, id desc);
    create index messages_contact on messages (tenant_id, contact_id);
    create index messages_run on messages (tenant_id, run_id) where run_id is not null;
    create index messages_broadcast on messages (tenant_id, broadcast_id) where broadcast_id is not null;
    create index messages_reply_to on messages (tenant_id, reply_to_id) where reply_to_id is not null;

    -- A provider's id for one of our messages: inbound it refuses a second delivery, outbound it finds the message a
    -- status is about. The key is the deduplication, in the same transaction that stores the message.
    create table message_refs (
      tenant_id uuid not null,
      channel_id uuid not null,
      provider_message_id text not null,
      message_id uuid not null,
      created_at timestamptz(3) not null,
      primary key (tenant_id, channel_id, provider_message_id),
      foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade,
      foreign key (tenant_id, message_id) references messages (tenant_id, id) on delete cascade
    );
    create index message_refs_message on message_refs (tenant_id, message_id);

    -- Every status a provider told us, as it came. One that overtook our own commit stays here without a message and is
    -- matched when the message is settled.
    create table message_statuses (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      channel_id uuid not null,
      provider_message_id text not null,
      message_id uuid,
      status text not null check (status in ('sent', 'delivered', 'read', 'played', 'failed')),
      error jsonb,
      provider_at timestamptz(3) not null,
      created_at timestamptz(3) not null,
      primary key (tenant_id, id),
      unique (tenant_id, channel_id, provider_message_id, status),
      foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade,
      foreign key (tenant_id, message_id) references messages (tenant_id, id) on delete cascade
    );
    create index message_statuses_message on message_statuses (tenant_id, message_id);

    -- What still has to be handed to a provider. leased_at is the intent: it is committed before the call is made, so a
    -- row found leased after a crash may or may not have been accepted.
    create table outbox (
      tenant_id uuid not null,
      channel_id uuid not null,
      message_id uuid not null,
      priority smallint not null default 0,
      attempts integer not null default 0,
      not_before timestamptz(3) not null,
      leased_at timestamptz(3),
      created_at timestamptz(3) not null,
      primary key (tenant_id, channel_id, priority, message_id),
      foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade,
      foreign key (tenant_id, message_id) references messages (tenant_id, id) on delete cascade
    ) with (fillfactor = 70);
    create index outbox_message on outbox (tenant_id, message_id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop table outbox; drop table message_statuses; drop table message_refs; drop table messages`)
}
