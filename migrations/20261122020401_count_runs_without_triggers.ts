import type { Knex } from 'knex'

/** Distributed databases have no triggers on statements: the statements that write runs write their counts, too. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    drop trigger runs_counted_insert on runs;
    drop trigger runs_counted_update on runs;
    drop trigger runs_counted_delete on runs;
    drop function count_new_runs(), count_changed_runs(), count_deleted_runs();
    delete from run_count_deltas d where not exists (select from workspaces w where w.id = d.tenant_id);
    alter table run_count_deltas add constraint run_count_deltas_tenant_id_fkey foreign key (tenant_id) references workspaces
      on delete cascade;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    alter table run_count_deltas drop constraint run_count_deltas_tenant_id_fkey;
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
