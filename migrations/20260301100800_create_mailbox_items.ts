import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Input that no run has processed yet. A mailbox is the unit of processing: a conversation, a contact without one, or
    -- a run with neither. Deleting a row consumes it. A mailbox may outlive its owner, so mailbox_id is no foreign key:
    -- the items of a deleted owner are consumed without effect.
    -- Rows are short-lived, and every claim scans the dead ones until they are vacuumed.
    create table mailbox_items (
      tenant_id uuid not null references workspaces on delete cascade,
      mailbox_kind text not null check (mailbox_kind in ('conversation', 'contact', 'run')),
      mailbox_id uuid not null,
      id uuid not null,
      kind text not null,
      payload jsonb not null,
      attempts integer not null default 0,
      due_at timestamptz(3) not null,
      created_at timestamptz(3) not null,
      primary key (tenant_id, mailbox_id, id)
    ) with (
      fillfactor = 70,
      autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
      autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000,
      autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000, autovacuum_vacuum_cost_delay = 0
    );
    create index mailbox_items_tenant_id_id_idx on mailbox_items (tenant_id, id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table mailbox_items')
}
