import type { Knex } from 'knex'
import { IN_YEARS, NEW_ID } from './20260301000000_create_extensions.ts'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(BROADCASTS)
  await knex.schema.raw(RECIPIENTS)
  await knex.schema.raw(PACE)
}

const BROADCASTS = `
  create table broadcasts (
    tenant_id uuid not null references workspaces on delete cascade,
    id uuid not null default ${NEW_ID},
    name text not null,
    description text,
    status text not null check (status in
      ('draft', 'scheduled', 'preparing', 'sending', 'paused', 'completed', 'canceled', 'failed')),
    status_reason text,
    channel_id uuid not null,
    template_id uuid not null,
    params jsonb not null default '{}',
    audience jsonb not null default '{}',
    schedule jsonb,
    frequency_cap jsonb,
    requires_opt_in boolean not null default false,
    -- Position of the next portion of the snapshot.
    snapshot_cursor jsonb,
    snapshot_at timestamptz(3),
    snapshot_hash text,
    -- Counts when it was started or resumed: earlier failures do not pause it again.
    resumed_counts jsonb,
    -- Time from which a worker has something to do. Null if there is nothing to do.
    work_at timestamptz(3),
    scheduled_at timestamptz(3),
    started_at timestamptz(3),
    completed_at timestamptz(3),
    created_by uuid,
    created_at timestamptz(3) not null default now() check (created_at ${IN_YEARS}),
    updated_at timestamptz(3) not null default now() check (updated_at ${IN_YEARS}),
    primary key (tenant_id, id),
    foreign key (tenant_id, channel_id) references channels (tenant_id, id),
    foreign key (tenant_id, template_id) references templates (tenant_id, id)
  );
  create index broadcasts_tenant_id_created_at_id_idx on broadcasts (tenant_id, created_at desc, id desc);
  create index broadcasts_tenant_id_template_id_idx on broadcasts (tenant_id, template_id);
  create index broadcasts_work_at_not_null_idx on broadcasts (work_at) where work_at is not null;
  create index broadcasts_tenant_id_channel_id_working_idx on broadcasts (tenant_id, channel_id)
    where work_at is not null;

  -- Phone numbers of an audience that are no contacts yet, or need parameters of their own.
  create table broadcast_phones (
    tenant_id uuid not null,
    broadcast_id uuid not null,
    position integer not null,
    phone text not null,
    name text,
    params jsonb not null default '{}',
    primary key (tenant_id, broadcast_id, position),
    foreign key (tenant_id, broadcast_id) references broadcasts (tenant_id, id) on delete cascade
  );`

/** Each change of the status of a recipient writes to all indexes of the table, so there are as few as possible. */
const RECIPIENTS = `
  -- Recipients outlive their contact, so that the report of the broadcast stays complete.
  create table broadcast_recipients (
    tenant_id uuid not null,
    id uuid not null,
    broadcast_id uuid not null,
    contact_id uuid not null,
    address text,
    -- Digest of what the snapshot states of the recipient. It stays when the address of a deleted contact is erased.
    digest bytea,
    params jsonb not null default '{}',
    timezone text,
    status text not null check (status in
      ('pending', 'sending', 'sent', 'delivered', 'read', 'failed', 'skipped', 'canceled', 'unknown')),
    skip_reason text,
    error jsonb,
    attempt integer not null default 0,
    due_at timestamptz(3) not null default 'epoch',
    message_id uuid,
    provider_message_id text,
    -- Messages to this recipient that the provider accepted, each with an ID of its own: at most one.
    accepted_count integer not null default 0,
    -- Address that the message was sent to, if the contact had another one than in the snapshot, whose digest stays.
    sent_to text,
    -- Keyed hash of the address of a deleted contact who was sent the message: a contact that takes it over is not.
    sent_hash bytea,
    sent_at timestamptz(3),
    delivered_at timestamptz(3),
    read_at timestamptz(3),
    failed_at timestamptz(3),
    replied_at timestamptz(3),
    -- Time at which the contact opted out of marketing after the message, within 72 hours.
    opted_out_at timestamptz(3),
    doubted_at timestamptz(3),
    doubt_settled_at timestamptz(3),
    doubt_settled_by text check (doubt_settled_by in ('provider', 'member')),
    created_at timestamptz(3) not null check (created_at ${IN_YEARS}),
    updated_at timestamptz(3) not null check (updated_at ${IN_YEARS}),
    primary key (tenant_id, id),
    foreign key (tenant_id, broadcast_id) references broadcasts (tenant_id, id) on delete cascade
  );
  -- Finds the recipients of a contact, too.
  create unique index broadcast_recipients_tenant_id_contact_id_broadcast_id_key
    on broadcast_recipients (tenant_id, contact_id, broadcast_id);
  create unique index broadcast_recipients_tenant_id_broadcast_id_address_usable_key
    on broadcast_recipients (tenant_id, broadcast_id, address) where skip_reason is null;
  -- Lists and hashes the recipients of a broadcast in the order of their IDs.
  create index broadcast_recipients_tenant_id_broadcast_id_id_idx on broadcast_recipients (tenant_id, broadcast_id, id);
  create index broadcast_recipients_tenant_id_broadcast_id_status_id_idx
    on broadcast_recipients (tenant_id, broadcast_id, status, id);
  create index broadcast_recipients_tenant_id_broadcast_id_due_at_id_open_idx
    on broadcast_recipients (tenant_id, broadcast_id, due_at, id) where status = 'pending';
  create index broadcast_recipients_tenant_id_broadcast_id_failed_at_last_idx
    on broadcast_recipients (tenant_id, broadcast_id, failed_at desc) where status = 'failed';
  create index broadcast_recipients_tenant_id_broadcast_id_id_doubted_idx
    on broadcast_recipients (tenant_id, broadcast_id, id) where doubted_at is not null;
  create index broadcast_recipients_tenant_id_broadcast_id_id_repeated_idx
    on broadcast_recipients (tenant_id, broadcast_id, id) where accepted_count > 1;
  create index broadcast_recipients_tenant_id_broadcast_id_sent_to_used_idx
    on broadcast_recipients (tenant_id, broadcast_id, sent_to) where sent_to is not null;
  create index broadcast_recipients_tenant_id_broadcast_id_sent_hash_used_idx
    on broadcast_recipients (tenant_id, broadcast_id, sent_hash) where sent_hash is not null;
  create index broadcast_recipients_tenant_id_contact_id_sent_at_sent_idx
    on broadcast_recipients (tenant_id, contact_id, sent_at) where sent_at is not null;`

const PACE = `
  -- Tokens of the messages that broadcasts may send on a channel, shared by all workers: the lock of the row decides who
  -- takes the next batch.
  create table channel_pacing (
    tenant_id uuid not null,
    channel_id uuid not null,
    tokens double precision not null,
    refilled_at timestamptz(3) not null,
    -- Last time at which replies were waiting. For a while after it, broadcasts are queued in smaller batches.
    answering_at timestamptz(3),
    primary key (tenant_id, channel_id),
    foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade
  );

  -- Errors of the provider that concern all broadcasts of a channel, until they are acted on.
  create table channel_alerts (
    tenant_id uuid not null,
    id uuid not null,
    channel_id uuid not null,
    code text not null,
    created_at timestamptz(3) not null,
    primary key (tenant_id, id),
    foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade
  );
  create index channel_alerts_tenant_id_channel_id_idx on channel_alerts (tenant_id, channel_id);

  -- The last time each contact was counted as one to whom the business wrote first, and the number of those by hour.
  create table first_contacts (
    tenant_id uuid not null,
    contact_id uuid not null,
    counted_at timestamptz(3) not null,
    primary key (tenant_id, contact_id),
    foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade
  );
  create table first_contact_hours (
    tenant_id uuid not null references workspaces on delete cascade,
    hour timestamptz(3) not null,
    count integer not null,
    primary key (tenant_id, hour)
  );`

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    drop table first_contact_hours, first_contacts, channel_alerts, channel_pacing, broadcast_recipients,
      broadcast_phones, broadcasts
  `)
}
