import type { Knex } from 'knex'
import { IN_YEARS, NEW_ID } from './20260301000000_create_extensions.ts'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table templates (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null default ${NEW_ID},
      channel_id uuid not null,
      name text not null check (name ~ '^[a-z0-9_]+$' and length(name) <= 512),
      language text not null,
      category text not null check (category in ('marketing', 'utility', 'authentication')),
      -- Category that the provider chose or announced, if it is another one.
      suggested_category text check (suggested_category in ('marketing', 'utility', 'authentication')),
      status text not null check (status in
        ('draft', 'pending', 'approved', 'rejected', 'paused', 'disabled', 'in_appeal', 'archived', 'deleted')),
      -- Time of the newest report of a status by the provider. Reports arrive in any order.
      status_reported_at timestamptz(3),
      rejection_reason text,
      quality text check (quality in ('green', 'yellow', 'red')),
      body text not null,
      components jsonb not null,
      -- How the texts name their variables. Null if they have none.
      parameter_format text check (parameter_format in ('named', 'positional')),
      provider_template_id text,
      submitted_at timestamptz(3),
      last_synced_at timestamptz(3),
      created_at timestamptz(3) not null default now() check (created_at ${IN_YEARS}),
      updated_at timestamptz(3) not null default now() check (updated_at ${IN_YEARS}),
      primary key (tenant_id, id),
      unique (tenant_id, channel_id, name, language),
      foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade
    );
    create index templates_tenant_id_provider_template_id_idx on templates (tenant_id, provider_template_id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table templates')
}
