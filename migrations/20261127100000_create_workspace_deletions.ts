import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Set when the workspace was deleted: nobody has access and nothing is done for it from then on. Its rows are then
    -- deleted in portions, and this one last.
    alter table workspaces add column deleted_at timestamptz(3);
  `)
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
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table workspace_deletions')
  await knex.schema.raw('alter table workspaces drop column deleted_at')
}
