import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Where a workspace's language model answers. The key is sealed to the row.
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
  await knex.schema.raw(`drop table ai_providers`)
}
