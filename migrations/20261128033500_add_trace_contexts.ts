import type { Knex } from 'knex'

const TABLES = ['mailbox_items', 'outbox', 'external_calls']

/**
 * The context of a trace (`traceparent` of W3C), under which another process continues it. It is written only for traces
 * that are sampled. Without a default no row is written.
 */
export async function up(knex: Knex): Promise<void> {
  for (const table of TABLES) await knex.raw(`alter table ${table} add column traceparent text`)
}

export async function down(knex: Knex): Promise<void> {
  for (const table of TABLES) await knex.raw(`alter table ${table} drop column traceparent`)
}
