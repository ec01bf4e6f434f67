import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Time at which the contact opted out of marketing after the message, within 72 hours.
    alter table broadcast_recipients add column opted_out_at timestamptz(3);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('alter table broadcast_recipients drop column opted_out_at')
}
