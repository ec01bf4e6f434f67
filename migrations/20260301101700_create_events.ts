import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Written in the transaction that made the change. Readers follow (xid, id) and stop below the oldest transaction still
    -- open, so a change that commits late is never stepped over. data holds ids, not what
    -- they stand for: a reader looks the rows up, so a deleted person leaves nothing behind here.
    create table events (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      xid xid8 not null default pg_current_xact_id(),
      type text not null,
      data jsonb not null,
      created_at timestamptz(3) not null,
      primary key (tenant_id, id)
    );
    create index events_order on events (tenant_id, xid, id);
    create index events_age on events (created_at);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop table events`)
}
