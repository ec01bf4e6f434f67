import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table idempotency_keys (
      tenant_id uuid not null references workspaces on delete cascade,
      route text not null,
      key text not null,
      request_hash bytea not null,
      response jsonb,
      created_at timestamptz(3) not null,
      primary key (tenant_id, route, key)
    );
    create index idempotency_keys_age on idempotency_keys (created_at);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop table idempotency_keys`)
}
