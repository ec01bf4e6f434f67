import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Address that the message was sent to, if the contact had another one than in the snapshot, whose digest stays.
    alter table broadcast_recipients add column sent_to text;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('alter table broadcast_recipients drop column sent_to')
}
