import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table run_steps (
      tenant_id uuid not null,
      id uuid not null,
      run_id uuid not null,
      index integer not null,
      step_id text not null,
      name text,
      type text not null,
      path text not null,
      iteration integer not null default 0,
      attempt integer not null default 1,
      status text not null check (status in ('running', 'waiting', 'completed', 'failed', 'skipped', 'canceled')),
      input jsonb,
      output jsonb,
      error jsonb,
      branch text,
      reused_from_id uuid,
      simulated boolean not null default false,
      message_id uuid,
      waiting_until timestamptz(3),
      started_at timestamptz(3) not null,
      finished_at timestamptz(3),
      primary key (tenant_id, run_id, index),
      foreign key (tenant_id, run_id) references runs (tenant_id, id) on delete cascade,
      foreign key (tenant_id, message_id) references messages (tenant_id, id) on delete set null (message_id)
    ) with (fillfactor = 90);
    create unique index run_steps_id on run_steps (tenant_id, id);
    create index run_steps_message on run_steps (tenant_id, message_id) where message_id is not null;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop table run_steps`)
}
