import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Runs that passed a throttle step since its window began. The key is a hash of the workflow, the step and its key.
    create table throttle_windows (
      tenant_id uuid not null references workspaces on delete cascade,
      key bytea not null,
      count integer not null,
      ends_at timestamptz(3) not null,
      primary key (tenant_id, key)
    );
    -- Windows that have ended are purged across tenants.
    create index throttle_windows_ends_at_idx on throttle_windows (ends_at);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table throttle_windows')
}
