import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    alter table channels
      add column broadcasts_per_second integer not null default 60 check (broadcasts_per_second between 1 and 1000);

    -- Tokens of the messages that broadcasts may send on a channel, shared by all workers: the lock of the row decides who
    -- takes the next batch.
    create table channel_pacing (
      tenant_id uuid not null,
      channel_id uuid not null,
      tokens double precision not null,
      refilled_at timestamptz(3) not null,
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
    );

    alter table broadcasts
      add column schedule jsonb,
      add column frequency_cap jsonb,
      add column requires_opt_in boolean not null default false,
      add column status_reason text,
      -- Position of the next portion of the snapshot.
      add column snapshot_cursor jsonb,
      add column snapshot_at timestamptz(3),
      add column snapshot_hash text,
      -- Counts when it was started or resumed: earlier failures do not pause it again.
      add column resumed_counts jsonb,
      -- Time from which a worker has something to do. Null if there is nothing to do.
      add column work_at timestamptz(3);
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
    );

    -- Recipients outlive their contact, so that the report of the broadcast stays complete.
    alter table broadcast_recipients
      drop constraint broadcast_recipients_tenant_id_contact_id_fkey,
      drop constraint broadcast_recipients_tenant_id_broadcast_id_address_key,
      alter column address drop not null,
      add column message_id uuid,
      add column provider_message_id text,
      -- Messages to this recipient that the provider accepted, each with an ID of its own: at most one.
      add column accepted_count integer not null default 0,
      -- Digest of what the snapshot states of the recipient. It stays when the address of a deleted contact is erased.
      add column digest bytea,
      add column timezone text,
      add column due_at timestamptz(3) not null default 'epoch',
      add column doubted_at timestamptz(3),
      add column doubt_settled_at timestamptz(3),
      add column doubt_settled_by text check (doubt_settled_by in ('provider', 'member')),
      add column replied_at timestamptz(3);
    create unique index broadcast_recipients_tenant_id_broadcast_id_address_usable_key
      on broadcast_recipients (tenant_id, broadcast_id, address) where skip_reason is null;
    create index broadcast_recipients_tenant_id_broadcast_id_due_at_id_open_idx
      on broadcast_recipients (tenant_id, broadcast_id, due_at, id) where status = 'pending';
    create index broadcast_recipients_tenant_id_broadcast_id_status_id_idx
      on broadcast_recipients (tenant_id, broadcast_id, status, id);
    create index broadcast_recipients_tenant_id_broadcast_id_failed_at_last_idx
      on broadcast_recipients (tenant_id, broadcast_id, failed_at desc) where status = 'failed';
    create index broadcast_recipients_tenant_id_broadcast_id_id_doubted_idx
      on broadcast_recipients (tenant_id, broadcast_id, id) where doubted_at is not null;
    create index broadcast_recipients_tenant_id_broadcast_id_id_repeated_idx
      on broadcast_recipients (tenant_id, broadcast_id, id) where accepted_count > 1;
    create index broadcast_recipients_tenant_id_contact_id_sent_at_sent_idx
      on broadcast_recipients (tenant_id, contact_id, sent_at) where sent_at is not null;

    -- Changes of the counts of broadcasts since they were last added up. Writers only insert, so they never wait for each
    -- other. Without foreign keys: the last changes of a workspace are written while it is being deleted.
    create table broadcast_count_deltas (
      tenant_id uuid not null,
      seq bigint generated always as identity,
      broadcast_id uuid not null,
      counter text not null,
      delta integer not null,
      primary key (tenant_id, seq)
    );
    create index broadcast_count_deltas_tenant_id_broadcast_id_idx on broadcast_count_deltas (tenant_id, broadcast_id);

    -- Lists the contacts with a tag in order, in portions.
    create index contact_tags_tenant_id_tag_id_contact_id_idx on contact_tags (tenant_id, tag_id, contact_id);
    drop index contact_tags_tenant_id_tag_id_idx;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create index contact_tags_tenant_id_tag_id_idx on contact_tags (tenant_id, tag_id);
    drop index contact_tags_tenant_id_tag_id_contact_id_idx;
    drop table broadcast_count_deltas, broadcast_phones, first_contact_hours, first_contacts, channel_alerts, channel_pacing;
    delete from broadcast_recipients r where r.address is null
      or not exists (select from contacts c where c.tenant_id = r.tenant_id and c.id = r.contact_id);
    delete from broadcast_recipients r using broadcast_recipients first
    where first.tenant_id = r.tenant_id and first.broadcast_id = r.broadcast_id and first.address = r.address
      and first.id < r.id;
    drop index broadcast_recipients_tenant_id_contact_id_sent_at_sent_idx,
      broadcast_recipients_tenant_id_broadcast_id_id_repeated_idx,
      broadcast_recipients_tenant_id_broadcast_id_id_doubted_idx,
      broadcast_recipients_tenant_id_broadcast_id_failed_at_last_idx,
      broadcast_recipients_tenant_id_broadcast_id_status_id_idx,
      broadcast_recipients_tenant_id_broadcast_id_due_at_id_open_idx,
      broadcast_recipients_tenant_id_broadcast_id_address_usable_key;
    alter table broadcast_recipients
      drop column message_id, drop column provider_message_id, drop column accepted_count, drop column digest,
      drop column timezone, drop column due_at, drop column doubted_at, drop column doubt_settled_at,
      drop column doubt_settled_by, drop column replied_at,
      alter column address set not null,
      add unique (tenant_id, broadcast_id, address),
      add foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade;
    drop index broadcasts_work_at_not_null_idx, broadcasts_tenant_id_channel_id_working_idx;
    alter table broadcasts
      drop column schedule, drop column frequency_cap, drop column requires_opt_in, drop column status_reason,
      drop column snapshot_cursor, drop column snapshot_at, drop column snapshot_hash, drop column resumed_counts,
      drop column work_at;
    alter table channels drop column broadcasts_per_second;
  `)
}
