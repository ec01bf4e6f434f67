import type { Knex } from 'knex'

const REFERENCES = [
  ['messages', 'contact_id', 'contacts'],
  ['messages', 'conversation_id', 'conversations'],
  ['runs', 'contact_id', 'contacts'],
  ['runs', 'conversation_id', 'conversations'],
  ['event_payloads', 'contact_id', 'contacts'],
] as const

/** Each statement waits for its locks alone, and none keeps those of another one. */
export const config = { transaction: false }

/**
 * Lets the rows of which a contact may have a great many outlive it until it is purged. Transactions that insert such rows
 * lock the conversation or the contact, and find that it is gone.
 */
export async function up(knex: Knex): Promise<void> {
  for (const [table, column] of REFERENCES) {
    await knex.schema.raw(`alter table ${table} drop constraint if exists ${table}_tenant_id_${column}_fkey`)
  }
}

/** Leaves the rows of contacts that are not purged yet. Nobody deletes them then. */
export async function down(knex: Knex): Promise<void> {
  for (const [table, column, referenced] of REFERENCES) {
    await knex.schema.raw(`
      alter table ${table} add foreign key (tenant_id, ${column}) references ${referenced} (tenant_id, id) on delete cascade not valid`)
  }
}
