import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table runs (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      workflow_id uuid not null,
      workflow_version integer not null,
      contact_id uuid,
      conversation_id uuid,
      status text not null check (status in ('queued', 'running', 'waiting', 'completed', 'failed', 'canceled', 'expired')),
      mode text not null default 'live' check (mode in ('live', 'dry_run')),
      trigger jsonb not null,
      trigger_event_id uuid not null,
      state jsonb not null,
      input jsonb,
      output jsonb,
      error jsonb,
      epoch integer not null default 0,
      steps_count integer not null default 0,
      messages_sent integer not null default 0,
      waiting_for text check (waiting_for in ('reply', 'timer', 'event')),
      waiting_until timestamptz(3),
      waiting_step_id text,
      replay_of uuid,
      root_run_id uuid not null,
      replay_from_step_id text,
      started_by jsonb not null,
      queued_at timestamptz(3) not null,
      started_at timestamptz(3),
      finished_at timestamptz(3),
      created_at timestamptz(3) not null,
      primary key (tenant_id, id),
      foreign key (tenant_id, workflow_id, workflow_version) references workflow_versions (tenant_id, workflow_id, version),
      foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade,
      foreign key (tenant_id, conversation_id) references conversations (tenant_id, id) on delete cascade,
      foreign key (tenant_id, replay_of) references runs (tenant_id, id) on delete set null (replay_of)
    ) with (fillfactor = 80);
    -- One event starts one run of a workflow, however often it is delivered; a replay is a run of its own.
    create unique index runs_trigger on runs (tenant_id, trigger_event_id, workflow_id);
    create index runs_newest on runs (tenant_id, created_at desc, id desc);
    create index runs_conversation on runs (tenant_id, conversation_id, id desc);
    create index runs_contact on runs (tenant_id, contact_id);
    create index runs_workflow on runs (tenant_id, workflow_id, workflow_version);
    create index runs_replay_of on runs (tenant_id, replay_of) where replay_of is not null;

    -- The mailbox of a conversation: what happened and no run has seen yet. Deleting a row is consuming it.
    create table inbox (
      tenant_id uuid not null,
      conversation_id uuid not null,
      id uuid not null,
      kind text not null,
      payload jsonb not null,
      attempts integer not null default 0,
      due_at timestamptz(3) not null,
      created_at timestamptz(3) not null,
      primary key (tenant_id, conversation_id, id),
      foreign key (tenant_id, conversation_id) references conversations (tenant_id, id) on delete cascade
    ) with (fillfactor = 70);
    create index inbox_oldest on inbox (tenant_id, id);

    create table run_waits (
      tenant_id uuid not null,
      conversation_id uuid not null,
      run_id uuid not null,
      epoch integer not null,
      waiting_for text not null check (waiting_for in ('reply', 'timer', 'event')),
      due_at timestamptz(3),
      created_at timestamptz(3) not null,
      primary key (tenant_id, conversation_id, run_id),
      foreign key (tenant_id, conversation_id) references conversations (tenant_id, id) on delete cascade,
      foreign key (tenant_id, run_id) references runs (tenant_id, id) on delete cascade
    );
    create index run_waits_run on run_waits (tenant_id, run_id);
    -- The sweep for due waits crosses tenants by nature.
    create index run_waits_due on run_waits (due_at) where due_at is not null;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop table run_waits; drop table inbox; drop table runs`)
}
