import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Receipts of deleted workspaces. There are no foreign keys: they outlive the workspace, and the table is on the
    -- coordinator of a distributed database.
    create table workspace_deletions (
      workspace_id uuid primary key,
      name text not null,
      -- Those who may read the receipt.
      owner_ids uuid[] not null,
      deleted_by uuid not null,
      -- The request that deleted it. The audit events of the workspace are deleted with it.
      address text,
      user_agent text,
      request_id text not null,
      -- Place in the order of tables: those before it were empty when they were last looked at.
      place integer not null default 0 check (place >= 0),
      -- Numbers of deleted rows by table.
      counts jsonb not null default '{}',
      files integer not null default 0 check (files >= 0),
      deleted_at timestamptz(3) not null,
      started_at timestamptz(3),
      finished_at timestamptz(3)
    );
    create index workspace_deletions_deleted_at_open_idx on workspace_deletions (deleted_at) where finished_at is null;
    create index workspace_deletions_finished_at_not_null_idx on workspace_deletions (finished_at)
      where finished_at is not null;
  `)
  await knex.schema.raw(`
    -- The workspaces whose rows are being deleted, beside these rows: the statements that claim work look here.
    create table deleted_workspaces (tenant_id uuid primary key)
  `)
  await knex.schema.raw(`
    do $$ begin
      if to_regclass('citus_tables') is not null then
        set local citus.multi_shard_modify_mode = 'sequential';
        perform create_distributed_table('deleted_workspaces', 'tenant_id', colocate_with => 'contacts')
          from citus_tables where table_name = 'contacts'::regclass;
      end if;
    end $$
  `)
  await knex.schema.raw(
    'alter table deleted_workspaces add foreign key (tenant_id) references workspaces (id) on delete cascade',
  )
  await knex.schema.raw(`
    -- Last, as a distribution reads the sizes of tables over other connections, which would wait for its lock.
    -- Set when the workspace was deleted: nobody has access from then on. Its rows are then deleted in portions, and this
    -- one last.
    alter table workspaces add column deleted_at timestamptz(3);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table deleted_workspaces')
  await knex.schema.raw('drop table workspace_deletions')
  await knex.schema.raw('alter table workspaces drop column deleted_at')
}
