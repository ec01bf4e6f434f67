import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- How many runs there are, without counting them: a base that is folded now and then, and what has changed since. No
    -- row is written by everybody, so nobody waits for anybody.
    create table run_counts (
      tenant_id uuid not null references workspaces on delete cascade,
      workflow_id uuid not null,
      version integer not null,
      status text not null,
      n bigint not null,
      primary key (tenant_id, workflow_id, version, status),
      foreign key (tenant_id, workflow_id) references workflows (tenant_id, id) on delete cascade
    );
    -- Without references: the last deltas of a workspace are written while it is being deleted.
    create table run_count_deltas (
      tenant_id uuid not null,
      seq bigint generated always as identity,
      workflow_id uuid not null,
      version integer not null,
      status text not null,
      n integer not null,
      primary key (tenant_id, seq)
    );

    -- Once per statement, however many rows it touches and whoever wrote it, cascades included.
    create function count_new_runs() returns trigger language plpgsql as $$
    begin
      insert into run_count_deltas (tenant_id, workflow_id, version, status, n)
        select tenant_id, workflow_id, workflow_version, status, count(*) from new_runs group by 1, 2, 3, 4;
      return null;
    end $$;
    create function count_changed_runs() returns trigger language plpgsql as $$
    begin
      insert into run_count_deltas (tenant_id, workflow_id, version, status, n)
        select tenant_id, workflow_id, workflow_version, status, sum(n) from (
          select tenant_id, workflow_id, workflow_version, status, 1 as n from new_runs
          union all select tenant_id, workflow_id, workflow_version, status, -1 from old_runs) changed
        group by 1, 2, 3, 4 having sum(n) <> 0;
      return null;
    end $$;
    create function count_deleted_runs() returns trigger language plpgsql as $$
    begin
      insert into run_count_deltas (tenant_id, workflow_id, version, status, n)
        select tenant_id, workflow_id, workflow_version, status, -count(*) from old_runs group by 1, 2, 3, 4;
      return null;
    end $$;
    create trigger runs_counted_insert after insert on runs referencing new table as new_runs
      for each statement execute function count_new_runs();
    create trigger runs_counted_update after update on runs referencing new table as new_runs old table as old_runs
      for each statement execute function count_changed_runs();
    create trigger runs_counted_delete after delete on runs referencing old table as old_runs
      for each statement execute function count_deleted_runs();

    -- The triggers have locked the table against writers, so this misses none.
    insert into run_counts select tenant_id, workflow_id, workflow_version, status, count(*) from runs group by 1, 2, 3, 4;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    drop trigger runs_counted_insert on runs;
    drop trigger runs_counted_update on runs;
    drop trigger runs_counted_delete on runs;
    drop function count_new_runs(), count_changed_runs(), count_deleted_runs();
    drop table run_count_deltas;
    drop table run_counts;
  `)
}
