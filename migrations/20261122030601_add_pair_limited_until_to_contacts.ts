import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Time at which a burst of messages to the contact is paid back, 6 seconds for each, in milliseconds since 1970: a
    -- distributed database refuses arithmetic of times in an update.
    alter table contacts add column pair_limited_until_ms bigint;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('alter table contacts drop column pair_limited_until_ms')
}
