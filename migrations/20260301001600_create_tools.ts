import type { Knex } from 'knex'
import { IN_YEARS } from './20260301000000_create_extensions.ts'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table tools (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      name text not null check (name ~ '^[a-z][a-z0-9_.]{0,63}$'),
      title text not null,
      description text not null,
      input_schema jsonb not null,
      output_schema jsonb not null,
      effect text not null check (effect in ('read', 'write', 'external_send')),
      config jsonb not null,
      -- The values of the request's headers, which may be secret.
      sealed_headers bytea,
      enabled boolean not null default true,
      created_at timestamptz(3) not null check (created_at ${IN_YEARS}),
      updated_at timestamptz(3) not null check (updated_at ${IN_YEARS}),
      primary key (tenant_id, id),
      unique (tenant_id, name)
    );

    -- Secrets that http steps and tools send. The secret is sealed to the row.
    create table http_credentials (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      name text not null,
      placement jsonb not null,
      allowed_hosts text[] not null,
      sealed_secret bytea not null,
      last_four text,
      last_used_at timestamptz(3),
      created_at timestamptz(3) not null check (created_at ${IN_YEARS}),
      updated_at timestamptz(3) not null check (updated_at ${IN_YEARS}),
      primary key (tenant_id, id),
      unique (tenant_id, name)
    );

    -- The language model of a workspace. The key is sealed to the row.
    create table ai_providers (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      base_url text not null,
      model text not null,
      sealed_key bytea,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      primary key (tenant_id, id),
      unique (tenant_id)
    );
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table ai_providers, http_credentials, tools')
}
