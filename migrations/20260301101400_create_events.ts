import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Written in the transaction that makes the change. Readers go by (xid, id) and stop below the oldest open transaction,
    -- so a change that commits late is never skipped. data contains ids only: readers look the rows up, so nothing of a
    -- deleted person remains here.
    create table events (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      xid xid8 not null default pg_current_xact_id(),
      type text not null,
      data jsonb not null,
      created_at timestamptz(3) not null,
      primary key (tenant_id, id)
    );
    create index events_tenant_id_xid_id_idx on events (tenant_id, xid, id);
    create index events_created_at_idx on events (created_at);

    -- Events that did not start every workflow with a matching trigger, and the reasons. One row per event with all its
    -- workflows, so that a batch needs one insert. Kept for a week.
    create table trigger_evaluations (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      contact_id uuid,
      conversation_id uuid,
      event jsonb not null,
      evaluations jsonb not null,
      created_at timestamptz(3) not null,
      primary key (tenant_id, id),
      foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade
    );
    create index trigger_evaluations_tenant_id_contact_id_id_idx on trigger_evaluations (tenant_id, contact_id, id desc);
    -- Rows are inserted in the order of their time and never updated, so a block range index costs inserts almost nothing.
    create index trigger_evaluations_created_at_idx on trigger_evaluations using brin (created_at);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table trigger_evaluations, events')
}
