import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table contacts (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      name text not null,
      phone text,
      email text,
      username text,
      language text,
      country text,
      timezone text,
      fields jsonb not null default '{}',
      marketing_consent text not null default 'unknown' check (marketing_consent in ('unknown', 'opted_in', 'opted_out')),
      consent_source text,
      consent_at timestamptz(3),
      blocked boolean not null default false,
      external_id text,
      source text not null check (source in ('api', 'import', 'inbound', 'manual', 'workflow')),
      last_inbound_at timestamptz(3),
      last_outbound_at timestamptz(3),
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      primary key (tenant_id, id),
      unique (tenant_id, phone),
      unique (tenant_id, external_id)
    ) with (fillfactor = 85);
    create index contacts_newest on contacts (tenant_id, created_at desc, id desc);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop table contacts`)
}
