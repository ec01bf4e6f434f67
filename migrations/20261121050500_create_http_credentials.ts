import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
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
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      primary key (tenant_id, id),
      unique (tenant_id, name)
    )
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table http_credentials')
}
