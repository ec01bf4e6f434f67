import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table channels (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      kind text not null check (kind in ('sandbox', 'whatsapp')),
      name text not null,
      status text not null check (status in ('connected', 'degraded', 'disconnected')),
      status_reason text,
      phone_number text,
      settings jsonb not null default '{}',
      -- Sealed.
      credentials bytea,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      primary key (tenant_id, id)
    );
    create unique index channels_tenant_id_sandbox_key on channels (tenant_id) where kind = 'sandbox';

    -- Maps a channel to its tenant. A provider's webhook names a channel and no tenant.
    create table channel_routes (
      channel_id uuid primary key,
      tenant_id uuid not null,
      foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade
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
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table contact_identities, channel_routes, channels')
}
