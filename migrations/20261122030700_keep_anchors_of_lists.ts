import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Rows at about equal distances in lists, so that a page far from both ends is found without walking to it. A list is
    -- ordered by a time and the ID: value is that time. count is the number of rows after the previous anchor up to this
    -- one. owner_id is the broadcast whose recipients are listed, otherwise the workspace. The anchor before all rows, whose
    -- row_id is nil, counts the rows without a time, and is locked by those who change the others; begun_at is when they
    -- were last counted from the first one on.
    create table list_anchors (
      tenant_id uuid not null references workspaces on delete cascade,
      list text not null check (list in ('contacts', 'conversations', 'runs', 'recipients')),
      owner_id uuid not null,
      value timestamptz(3) not null,
      row_id uuid not null,
      count bigint not null,
      begun_at timestamptz(3),
      primary key (tenant_id, list, owner_id, value, row_id)
    ) with (fillfactor = 80);

    -- Rows that left their place, or came without a time, and are not added to the anchors yet: concurrent
    -- transactions insert rows instead of updating the same one.
    create table list_changes (
      tenant_id uuid not null references workspaces on delete cascade,
      seq bigint generated always as identity,
      list text not null,
      owner_id uuid not null,
      value timestamptz(3) not null,
      row_id uuid not null,
      delta integer not null,
      primary key (tenant_id, seq)
    );
    create index list_changes_tenant_id_list_owner_id_value_row_id_idx on list_changes (tenant_id, list, owner_id, value, row_id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table list_changes, list_anchors')
}
