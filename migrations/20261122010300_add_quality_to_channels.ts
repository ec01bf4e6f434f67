import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- As the provider reports them; null if it has not.
    alter table channels
      add column quality text check (quality in ('green', 'yellow', 'red', 'unknown')),
      -- Contacts per day that may be written to first: digits, or 'unlimited'.
      add column messaging_limit text check (messaging_limit ~ '^([0-9]+|unlimited)$'),
      -- Messages per second.
      add column throughput integer,
      add column last_alert jsonb
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(
    'alter table channels drop column quality, drop column messaging_limit, drop column throughput, drop column last_alert',
  )
}
