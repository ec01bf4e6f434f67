import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
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
      status text not null check (status in ('queued', 'running', 'waiting', 'completed', 'failed', 'canceled', 'expired')),
      mode text not null default 'live' check (mode in ('live', 'dry_run')),
      trigger jsonb not null,
      trigger_event_id uuid not null,
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
      foreign key (tenant_id, parent_run_id) references runs (tenant_id, id) on delete set null (parent_run_id),
      foreign key (tenant_id, replay_of) references runs (tenant_id, id) on delete set null (replay_of)
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
    create index runs_tenant_id_replay_of_not_null_idx on runs (tenant_id, replay_of) where replay_of is not null;
    create index runs_tenant_id_parent_run_id_not_null_idx on runs (tenant_id, parent_run_id)
      where parent_run_id is not null;
    -- The active runs of a mailbox: that of a conversation, of a contact without one, or of a run with neither.
    create index runs_tenant_id_active_mailbox_idx
      on runs (tenant_id, (coalesce(conversation_id, contact_id, mailbox_run_id, id)))
      where status in ('queued', 'running', 'waiting');

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

    -- The number of runs without counting them: a base that is updated periodically, and the changes since. Writers only
    -- insert deltas, so they never wait for each other.
    create table run_counts (
      tenant_id uuid not null references workspaces on delete cascade,
      workflow_id uuid not null,
      version integer not null,
      status text not null,
      count bigint not null,
      primary key (tenant_id, workflow_id, version, status),
      foreign key (tenant_id, workflow_id) references workflows (tenant_id, id) on delete cascade
    );
    -- Without foreign keys: the last deltas of a workspace are written while it is being deleted.
    create table run_count_deltas (
      tenant_id uuid not null,
      seq bigint generated always as identity,
      workflow_id uuid not null,
      version integer not null,
      status text not null,
      delta integer not null,
      primary key (tenant_id, seq)
    );

    -- Once per statement, however many rows it writes; deletes by cascade are counted, too.
    create function count_new_runs() returns trigger language plpgsql as $$
    begin
      insert into run_count_deltas (tenant_id, workflow_id, version, status, delta)
        select tenant_id, workflow_id, workflow_version, status, count(*) from new_runs group by 1, 2, 3, 4;
      return null;
    end $$;
    create function count_changed_runs() returns trigger language plpgsql as $$
    begin
      insert into run_count_deltas (tenant_id, workflow_id, version, status, delta)
        select tenant_id, workflow_id, workflow_version, status, sum(delta) from (
          select tenant_id, workflow_id, workflow_version, status, 1 as delta from new_runs
          union all select tenant_id, workflow_id, workflow_version, status, -1 from old_runs) changed
        group by 1, 2, 3, 4 having sum(delta) <> 0;
      return null;
    end $$;
    create function count_deleted_runs() returns trigger language plpgsql as $$
    begin
      insert into run_count_deltas (tenant_id, workflow_id, version, status, delta)
        select tenant_id, workflow_id, workflow_version, status, -count(*) from old_runs group by 1, 2, 3, 4;
      return null;
    end $$;
    create trigger runs_counted_insert after insert on runs referencing new table as new_runs
      for each statement execute function count_new_runs();
    create trigger runs_counted_update after update on runs referencing new table as new_runs old table as old_runs
      for each statement execute function count_changed_runs();
    create trigger runs_counted_delete after delete on runs referencing old table as old_runs
      for each statement execute function count_deleted_runs();
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    drop table run_waits, runs, run_count_deltas, run_counts;
    drop function count_new_runs(), count_changed_runs(), count_deleted_runs();
  `)
}
