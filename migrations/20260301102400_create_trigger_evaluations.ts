import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- What happened to a contact and did not start every workflow that has a trigger for it, and why. One row per event, its
    -- workflows side by side: the hot path pays one insert per batch. Kept for a week.
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
    create index trigger_evaluations_contact on trigger_evaluations (tenant_id, contact_id, id desc);
    -- Rows come in the order of their time and are never changed: a block range index costs an insert next to nothing.
    create index trigger_evaluations_age on trigger_evaluations using brin (created_at);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop table trigger_evaluations`)
}
