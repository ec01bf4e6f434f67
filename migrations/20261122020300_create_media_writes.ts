import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Files that a process puts into the file store or deletes from it. A row that gets old belongs to a process that
    -- ended meanwhile: its file is deleted.
    create table media_writes (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      created_at timestamptz(3) not null,
      primary key (tenant_id, id)
    );
    create index media_writes_created_at_idx on media_writes (created_at);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table media_writes')
}
