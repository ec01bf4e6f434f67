import type { Knex } from 'knex'
import { IN_YEARS } from './20260301000000_create_extensions.ts'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(RUNS)
  await knex.schema.raw(`
    -- The due time of a waiting run. Rows are short-lived, and every claim scans the dead ones until they are vacuumed.
    create table run_waits (
      tenant_id uuid not null,
      run_id uuid not null,
      mailbox_kind text not null check (mailbox_kind in ('conversation', 'contact', 'run')),
      mailbox_id uuid not null,
      epoch integer not null,
      due_at timestamptz(3),
      created_at timestamptz(3) not null,
      primary key (tenant_id, run_id),
      foreign key (tenant_id, run_id) references runs (tenant_id, id) on delete cascade
    ) with (
      autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
      autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000,
      autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000, autovacuum_vacuum_cost_delay = 0
    );
    -- Due waits are looked up across all tenants.
    create index run_waits_due_at_not_null_idx on run_waits (due_at) where due_at is not null;

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

const RUNS = `
  create table runs (
    tenant_id uuid not null references workspaces on delete cascade,
    id uuid not null,
    workflow_id uuid not null,
    -- For a run of a draft: the version that was published when it ran.
    workflow_version integer not null,
    is_draft boolean,
    contact_id uuid,
    conversation_id uuid,
    parent_run_id uuid,
    -- The run whose mailbox this one uses: the root of a tree of runs without contact and conversation.
    mailbox_run_id uuid,
    replay_of uuid,
    root_run_id uuid not null,
    replay_from_step_id text,
    status text not null check (status in ('queued', 'running', 'waiting', 'completed', 'failed', 'canceled', 'expired')),
    mode text not null default 'live' check (mode in ('live', 'dry_run')),
    trigger jsonb not null,
    trigger_event_id uuid not null,
    started_by jsonb not null,
    state jsonb not null,
    input jsonb,
    output jsonb,
    error jsonb,
    depth integer not null default 0,
    epoch integer not null default 0,
    steps_count integer not null default 0,
    messages_sent integer not null default 0,
    waiting_for text check (waiting_for in ('reply', 'timer', 'event', 'result')),
    waiting_until timestamptz(3),
    waiting_step_id text,
    queued_at timestamptz(3) not null,
    started_at timestamptz(3),
    finished_at timestamptz(3),
    created_at timestamptz(3) not null check (created_at ${IN_YEARS}),
    primary key (tenant_id, id),
    foreign key (tenant_id, workflow_id, workflow_version) references workflow_versions (tenant_id, workflow_id, version),
    foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade,
    foreign key (tenant_id, conversation_id) references conversations (tenant_id, id) on delete cascade,
    foreign key (tenant_id, parent_run_id) references runs (tenant_id, id),
    foreign key (tenant_id, replay_of) references runs (tenant_id, id)
  ) with (fillfactor = 80);
  -- An event starts at most one run of a workflow, however often it is delivered. A replay has an event of its own.
  create unique index runs_tenant_id_trigger_event_id_workflow_id_key on runs (tenant_id, trigger_event_id, workflow_id);
  create index runs_tenant_id_created_at_id_idx on runs (tenant_id, created_at desc, id desc);
  create index runs_tenant_id_conversation_id_id_idx on runs (tenant_id, conversation_id, id desc);
  create index runs_tenant_id_contact_id_idx on runs (tenant_id, contact_id);
  -- Lists the runs of a version in order; the runs of a workflow are those of its versions, merged.
  create index runs_tenant_id_workflow_id_workflow_version_created_at_id_idx
    on runs (tenant_id, workflow_id, workflow_version, created_at desc, id desc);
  -- Nearly all runs complete, so the index over all runs serves that list; the other statuses are rare. A run that
  -- completes in the transaction that starts it never enters this index.
  create index runs_tenant_id_status_created_at_id_not_completed_idx
    on runs (tenant_id, status, created_at desc, id desc) where status <> 'completed';
  create index runs_tenant_id_waiting_for_created_at_id_waiting_idx
    on runs (tenant_id, waiting_for, created_at desc, id desc) where status = 'waiting';
  create index runs_tenant_id_replay_of_not_null_idx on runs (tenant_id, replay_of) where replay_of is not null;
  create index runs_tenant_id_parent_run_id_not_null_idx on runs (tenant_id, parent_run_id)
    where parent_run_id is not null;
  -- The active runs of a mailbox: that of a conversation, of a contact without one, or of a run with neither.
  create index runs_tenant_id_active_mailbox_idx
    on runs (tenant_id, (coalesce(conversation_id, contact_id, mailbox_run_id, id)))
    where status in ('queued', 'running', 'waiting');`

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table throttle_windows, run_waits, runs')
}
