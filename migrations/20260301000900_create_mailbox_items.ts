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
      -- Time of the next attempt while an item of the mailbox waits for one after a failure: that of the failed item and
      -- of all items behind it, also of those that arrive meanwhile. Without it they would overtake the failed item.
      retry_at timestamptz(3),
      created_at timestamptz(3) not null,
      primary key (tenant_id, mailbox_id, id)
    ) with (
      fillfactor = 70,
      autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
      autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000,
      autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000, autovacuum_vacuum_cost_delay = 0
    );
    create index mailbox_items_tenant_id_id_idx on mailbox_items (tenant_id, id);
    -- Finds all that is due, for all workspaces.
    create index mailbox_items_due_at_idx on mailbox_items (due_at);
    -- Almost always empty, so that the look-up for each new item costs next to nothing.
    create index mailbox_items_tenant_id_mailbox_id_retry_at_failing_idx on mailbox_items (tenant_id, mailbox_id, retry_at)
      where retry_at is not null;

    -- Mailbox items that could not be processed, until a person retries or discards them. They are apart from
    -- mailbox_items, whose rows are all due sooner or later.
    create table dead_letters (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      mailbox_kind text not null check (mailbox_kind in ('conversation', 'contact', 'run')),
      mailbox_id uuid not null,
      kind text not null,
      payload jsonb not null,
      contact_id uuid,
      conversation_id uuid,
      run_id uuid,
      workflow_id uuid,
      error jsonb not null,
      attempts integer not null,
      created_at timestamptz(3) not null,
      failed_at timestamptz(3) not null,
      primary key (tenant_id, id),
      foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade,
      foreign key (tenant_id, conversation_id) references conversations (tenant_id, id) on delete cascade
    );
    -- One index for each filter of the list, in its order, so that pages and totals read matching rows only.
    create index dead_letters_tenant_id_failed_at_id_idx on dead_letters (tenant_id, failed_at desc, id desc);
    create index dead_letters_tenant_id_contact_id_failed_at_id_idx
      on dead_letters (tenant_id, contact_id, failed_at desc, id desc);
    create index dead_letters_tenant_id_conversation_id_failed_at_id_idx
      on dead_letters (tenant_id, conversation_id, failed_at desc, id desc);
    create index dead_letters_tenant_id_kind_failed_at_id_idx on dead_letters (tenant_id, kind, failed_at desc, id desc);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table dead_letters, mailbox_items')
}
