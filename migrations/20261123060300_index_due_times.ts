import type { Knex } from 'knex'

export const config = { transaction: false }

/** The indexes by which all that is due in a table is found, for all workspaces. */
const INDEXES = [
  ['mailbox_items_due_at_idx', 'mailbox_items (due_at)'],
  ['outbox_not_before_idx', 'outbox (not_before)'],
  ['external_calls_due_at_idx', 'external_calls (due_at)'],
] as const

export async function up(knex: Knex): Promise<void> {
  // Building an index waits for older transactions and blocks nobody.
  await knex.schema.raw('set lock_timeout = 0')
  for (const [name, columns] of INDEXES) {
    await knex.schema.raw(`drop index concurrently if exists ${name}`)
    await knex.schema.raw(`create index concurrently ${name} on ${columns}`)
  }
}

export async function down(knex: Knex): Promise<void> {
  for (const [name] of INDEXES) await knex.schema.raw(`drop index ${name}`)
}
