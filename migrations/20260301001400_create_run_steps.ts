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
      foreign key (tenant_id, message_id) references messages (tenant_id, id)
    ) with (fillfactor = 90);
    create unique index run_steps_tenant_id_id_key on run_steps (tenant_id, id);
    create index run_steps_tenant_id_message_id_not_null_idx on run_steps (tenant_id, message_id)
      where message_id is not null;

    -- Calls to other systems, made outside of any transaction. A row is the intent, committed with the step that wants the
    -- call, and is deleted when the result is in the run's mailbox. due_at is also the lease: a worker that claims a row
    -- moves it on, so the call is due again if the worker dies. claim_count tells one claim from the next.
    create table external_calls (
      tenant_id uuid not null,
      run_id uuid not null,
      step_index integer not null,
      attempt integer not null,
      step_id text not null,
      epoch integer not null,
      timeout_ms integer,
      request jsonb not null,
      claim_count integer not null default 0,
      due_at timestamptz(3) not null,
      created_at timestamptz(3) not null,
      primary key (tenant_id, run_id, step_index, attempt),
      foreign key (tenant_id, run_id) references runs (tenant_id, id) on delete cascade
    ) with (fillfactor = 70);
    create index external_calls_tenant_id_due_at_idx on external_calls (tenant_id, due_at);
    -- Finds all that is due, for all workspaces.
    create index external_calls_due_at_idx on external_calls (due_at);

    -- The exchange with a language model within one step: the tools it called and their results. A later attempt continues
    -- from here after a crash or a failure and repeats nothing. version increases with every entry: of two workers with
    -- the same step, the later one finds it changed and stops.
    create table ai_transcripts (
      tenant_id uuid not null,
      run_id uuid not null,
      step_index integer not null,
      version integer not null,
      entries jsonb not null,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      primary key (tenant_id, run_id, step_index),
      foreign key (tenant_id, run_id) references runs (tenant_id, id) on delete cascade
    );
    create index ai_transcripts_tenant_id_created_at_run_id_idx on ai_transcripts (tenant_id, created_at, run_id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table ai_transcripts, external_calls, run_steps')
}
