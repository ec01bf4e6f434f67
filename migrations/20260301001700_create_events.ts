import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- The position of the last event of a tenant that has one.
    create table event_positions (
      tenant_id uuid primary key references workspaces on delete cascade,
      position bigint not null
    );

    -- Written in the transaction that makes the change. data contains ids only: readers look the rows up, so nothing of a
    -- deleted person remains here.
    create table events (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      -- Null until the event is committed and somebody reads it: readers number new events, one reader of a tenant at a
      -- time, so an event that commits late gets a later position, and writers never wait for each other.
      position bigint,
      type text not null,
      data jsonb not null,
      created_at timestamptz(3) not null,
      primary key (tenant_id, id)
    );
    create unique index events_tenant_id_position_numbered_key on events (tenant_id, position) where position is not null;
    create index events_tenant_id_id_unnumbered_idx on events (tenant_id, id) where position is null;
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
  await knex.schema.raw('drop table trigger_evaluations, events, event_positions')
}
