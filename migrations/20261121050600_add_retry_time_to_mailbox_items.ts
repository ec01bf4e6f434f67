import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Time of the next attempt while an item of the mailbox waits for one after a failure: that of the failed item and of
    -- all items behind it, also of those that arrive meanwhile. Without it they would overtake the failed item.
    alter table mailbox_items add column retry_at timestamptz(3);
    -- Almost always empty, so that the look-up for each new item costs next to nothing.
    create index mailbox_items_tenant_id_mailbox_id_retry_at_failing_idx on mailbox_items (tenant_id, mailbox_id, retry_at)
      where retry_at is not null;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('alter table mailbox_items drop column retry_at')
}
