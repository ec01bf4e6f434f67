import type { Knex } from 'knex'

export const contracts = 'pages are found without anchors, and no released version has any'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`set local citus.multi_shard_modify_mode = 'sequential'`)
  await knex.schema.raw('drop table list_changes')
  await knex.schema.raw('drop table list_anchors')
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
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
