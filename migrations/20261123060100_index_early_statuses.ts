import type { Knex } from 'knex'

export const config = { transaction: false }

export async function up(knex: Knex): Promise<void> {
  // Building an index waits for older transactions and blocks nobody.
  await knex.schema.raw('set lock_timeout = 0')
  await knex.schema.raw('drop index concurrently if exists message_statuses_created_at_no_message_idx')
  await knex.schema.raw(`
    create index concurrently message_statuses_created_at_no_message_idx on message_statuses (created_at)
    where message_id is null`)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop index message_statuses_created_at_no_message_idx')
}
