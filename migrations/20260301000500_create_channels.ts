import type { Knex } from 'knex'
import { IN_YEARS, NEW_ID } from './20260301000000_create_extensions.ts'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table channels (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null default ${NEW_ID},
      kind text not null check (kind in ('sandbox', 'whatsapp')),
      name text not null,
      status text not null check (status in ('connected', 'degraded', 'disconnected')),
      status_reason text,
      phone_number text,
      settings jsonb not null default '{}',
      -- Sealed.
      credentials bytea,
      -- The following as the provider reports them; null if it has not.
      quality text check (quality in ('green', 'yellow', 'red', 'unknown')),
      -- Contacts per day that may be written to first: digits, or 'unlimited'.
      messaging_limit text check (messaging_limit ~ '^([0-9]+|unlimited)$'),
      -- Messages per second.
      throughput integer,
      last_alert jsonb,
      -- Nothing is sent on the channel before this time, which its provider has named.
      paused_until timestamptz(3),
      broadcasts_per_second integer not null default 60 check (broadcasts_per_second between 1 and 1000),
      created_at timestamptz(3) not null default now() check (created_at ${IN_YEARS}),
      updated_at timestamptz(3) not null default now() check (updated_at ${IN_YEARS}),
      primary key (tenant_id, id)
    );
    create unique index channels_tenant_id_sandbox_key on channels (tenant_id) where kind = 'sandbox';

    -- Maps a channel to its tenant. A provider's webhook names a channel and no tenant. Every node of a distributed
    -- database has the routes, which cannot have a foreign key to rows of one node.
    create table channel_routes (
      channel_id uuid primary key,
      tenant_id uuid not null references workspaces on delete cascade
    );

    create table contact_identities (
      tenant_id uuid not null,
      id uuid not null,
      contact_id uuid not null,
      channel_id uuid not null,
      kind text not null check (kind in ('phone', 'bsuid', 'parent_bsuid')),
      value text not null,
      created_at timestamptz(3) not null,
      primary key (tenant_id, id),
      unique (tenant_id, channel_id, kind, value),
      foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade,
      foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade
    );
    create index contact_identities_tenant_id_contact_id_idx on contact_identities (tenant_id, contact_id);

    -- Bodies of genuine webhook calls, as they arrived. The id is derived from the body, so a repeated call has one row.
    create table channel_webhooks (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      channel_id uuid not null,
      body bytea not null,
      status text not null check (status in ('processed', 'pending', 'failed', 'rejected')),
      -- Counts of the parts and names of what is unknown; null if the body could not be parsed.
      outcome jsonb,
      error jsonb,
      attempts integer not null,
      due_at timestamptz(3),
      created_at timestamptz(3) not null,
      primary key (tenant_id, id),
      foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade
    );
    create index channel_webhooks_tenant_id_channel_id_created_at_id_idx
      on channel_webhooks (tenant_id, channel_id, created_at desc, id desc);
    -- Most webhooks are processed: finds the others without reading them.
    create index channel_webhooks_tenant_id_channel_id_created_at_failed_idx
      on channel_webhooks (tenant_id, channel_id, created_at desc) where status <> 'processed';
    create index channel_webhooks_created_at_idx on channel_webhooks (created_at);
    create index channel_webhooks_due_at_not_null_idx on channel_webhooks (due_at) where due_at is not null;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table channel_webhooks, contact_identities, channel_routes, channels')
}
