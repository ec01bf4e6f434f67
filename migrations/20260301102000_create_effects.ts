import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- What runs want done outside of any transaction: a row is the intent, committed with the step that has it. due_at
    -- is also the lease: whoever takes a row moves it on, so one whose performer died is due again. A row goes when its
    -- result is on its way to the run.
    create table effects (
      tenant_id uuid not null,
      run_id uuid not null,
      step_index integer not null,
      attempt integer not null,
      step_id text not null,
      epoch integer not null,
      timeout_ms integer,
      request jsonb not null,
      performances integer not null default 0,
      due_at timestamptz(3) not null,
      created_at timestamptz(3) not null,
      primary key (tenant_id, run_id, step_index, attempt),
      foreign key (tenant_id, run_id) references runs (tenant_id, id) on delete cascade
    ) with (fillfactor = 70);
    create index effects_due on effects (tenant_id, due_at);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop table effects`)
}
