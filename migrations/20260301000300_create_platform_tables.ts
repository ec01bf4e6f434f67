import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table rate_limits (
      key varchar(255) primary key,
      points integer not null default 0,
      -- Milliseconds since the Unix epoch.
      expire bigint
    );
    create index rate_limits_expire_idx on rate_limits (expire);

    -- Jobs that wait for a worker, which claims one by deleting its row. Other tables say what is due, so the rows may be
    -- lost, and no commit waits for them to reach the disk.
    create unlogged table wakeups (
      task text not null,
      tenant_id uuid not null,
      key text not null,
      created_at timestamptz not null default now(),
      primary key (tenant_id, task, key)
    ) with (
      autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
      autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000,
      autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000, autovacuum_vacuum_cost_delay = 0
    );
    -- Finds the workspaces with jobs, and the oldest job of each, without reading their other jobs.
    create index wakeups_task_tenant_id_created_at_idx on wakeups (task, tenant_id, created_at);

    -- One row per process that is asked for its readiness: the proof that the database stores rows.
    create table readiness_probes (
      id uuid primary key,
      checked_at timestamptz(3) not null,
      padding text not null
    );
    -- The padding stays in the row, so that a probe needs space on the disk.
    alter table readiness_probes alter column padding set storage plain;

    create table idempotency_keys (
      tenant_id uuid not null references workspaces on delete cascade,
      route text not null,
      key text not null,
      request_hash bytea not null,
      response jsonb,
      created_at timestamptz(3) not null,
      primary key (tenant_id, route, key)
    );
    create index idempotency_keys_created_at_idx on idempotency_keys (created_at);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table idempotency_keys, readiness_probes, wakeups, rate_limits')
}
