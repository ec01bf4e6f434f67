import type { Knex } from 'knex'
import { IN_YEARS, NEW_ID } from './20260301000000_create_extensions.ts'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(MESSAGES)
  await knex.schema.raw(REPORTS)
  await knex.schema.raw(OUTBOX)
}

/**
 * A message changes its status up to four times, and a batch changes all rows of a page at once. Without room for them in
 * the page, or with an index whose condition reads the status, each new version is written to all indexes.
 */
const MESSAGES = `
  create table messages (
    tenant_id uuid not null references workspaces on delete cascade,
    id uuid not null default ${NEW_ID},
    conversation_id uuid not null,
    contact_id uuid not null,
    channel_id uuid not null,
    direction text not null check (direction in ('inbound', 'outbound', 'internal')),
    type text not null,
    body text,
    content jsonb,
    -- Category of the template a message was made from. Null for any other message, which is sent inside the service
    -- window only.
    category text check (category in ('marketing', 'utility', 'authentication')),
    status text not null check (status in ('received', 'scheduled', 'queued', 'sending', 'sent', 'delivered', 'read',
      'played', 'failed', 'canceled')),
    error jsonb,
    sender jsonb not null,
    run_id uuid,
    step_id text,
    broadcast_id uuid,
    -- Without a foreign key: recipients are deleted with their broadcast, and messages stay.
    recipient_id uuid,
    reply_to_id uuid,
    provider_message_id text,
    provider_at timestamptz(3),
    -- Time that the sender chose for the message.
    send_at timestamptz(3),
    -- The same while it is scheduled.
    release_at timestamptz(3),
    sent_at timestamptz(3),
    delivered_at timestamptz(3),
    read_at timestamptz(3),
    failed_at timestamptz(3),
    created_at timestamptz(3) not null default now() check (created_at ${IN_YEARS}),
    updated_at timestamptz(3) not null default now() check (updated_at ${IN_YEARS}),
    primary key (tenant_id, id),
    constraint messages_status_release_at_check check ((status = 'scheduled') = (release_at is not null)),
    foreign key (tenant_id, conversation_id) references conversations (tenant_id, id) on delete cascade,
    foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade,
    foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade,
    foreign key (tenant_id, run_id) references runs (tenant_id, id),
    foreign key (tenant_id, broadcast_id) references broadcasts (tenant_id, id),
    foreign key (tenant_id, reply_to_id) references messages (tenant_id, id)
  ) with (fillfactor = 50);
  create index messages_tenant_id_conversation_id_created_at_id_idx
    on messages (tenant_id, conversation_id, created_at desc, id desc);
  create index messages_tenant_id_contact_id_idx on messages (tenant_id, contact_id);
  create index messages_tenant_id_run_id_not_null_idx on messages (tenant_id, run_id) where run_id is not null;
  create index messages_tenant_id_broadcast_id_not_null_idx on messages (tenant_id, broadcast_id)
    where broadcast_id is not null;
  create index messages_tenant_id_recipient_id_not_null_idx on messages (tenant_id, recipient_id)
    where recipient_id is not null;
  create index messages_tenant_id_reply_to_id_not_null_idx on messages (tenant_id, reply_to_id)
    where reply_to_id is not null;
  -- Finds messages whose time has come, across tenants.
  create index messages_release_at_not_null_idx on messages (release_at) where release_at is not null;`

const REPORTS = `
  -- The provider's ids of messages: the primary key rejects a second delivery of an inbound message, in the transaction
  -- that stores it, and finds the outbound message that a status is about. One statement stores the ids, which tell new
  -- messages from repeated ones, and then the new messages.
  create table provider_message_ids (
    tenant_id uuid not null,
    channel_id uuid not null,
    provider_message_id text not null,
    message_id uuid not null,
    created_at timestamptz(3) not null,
    primary key (tenant_id, channel_id, provider_message_id),
    foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade,
    foreign key (tenant_id, message_id) references messages (tenant_id, id) on delete cascade
      deferrable initially deferred
  );
  create index provider_message_ids_tenant_id_message_id_idx on provider_message_ids (tenant_id, message_id);

  -- A provider may repeat a message after its contact was deleted. Its ID may contain a phone number, so it is hashed.
  create table deleted_message_ids (
    tenant_id uuid not null references workspaces on delete cascade,
    -- Of the channel and the provider's ID of the message.
    hash bytea not null,
    expires_at timestamptz(3) not null,
    primary key (tenant_id, hash)
  );
  create index deleted_message_ids_expires_at_idx on deleted_message_ids (expires_at);

  -- Every status a provider reported. One that arrives before the provider's id of its message is committed has no
  -- message_id until then.
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
    constraint message_statuses_channel_id_provider_message_id_status_key
      unique (tenant_id, channel_id, provider_message_id, status),
    foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade,
    foreign key (tenant_id, message_id) references messages (tenant_id, id) on delete cascade
  );
  create index message_statuses_tenant_id_message_id_idx on message_statuses (tenant_id, message_id);
  create index message_statuses_created_at_no_message_idx on message_statuses (created_at) where message_id is null;`

const OUTBOX = `
  -- Messages to hand to a provider. leased_at is committed before the provider is called, so after a crash the provider
  -- may or may not have accepted a leased message.
  -- Rows are short-lived, and every claim scans the dead ones until they are vacuumed.
  create table outbox (
    tenant_id uuid not null,
    channel_id uuid not null,
    conversation_id uuid not null,
    message_id uuid not null,
    priority smallint not null default 0,
    attempts integer not null default 0,
    not_before timestamptz(3) not null,
    leased_at timestamptz(3),
    created_at timestamptz(3) not null,
    primary key (tenant_id, channel_id, priority, message_id),
    foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade,
    foreign key (tenant_id, message_id) references messages (tenant_id, id) on delete cascade
  ) with (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000, autovacuum_vacuum_cost_delay = 0
  );
  create index outbox_tenant_id_message_id_idx on outbox (tenant_id, message_id);
  -- Finds the oldest message of a conversation without reading the others of its channel.
  create index outbox_tenant_id_conversation_id_message_id_idx on outbox (tenant_id, conversation_id, message_id);
  -- Finds all that is due, for all workspaces.
  create index outbox_not_before_idx on outbox (not_before);`

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table outbox, message_statuses, deleted_message_ids, provider_message_ids, messages')
}
