import type { Knex } from 'knex'
import { NEW_ID } from './20260301000000_create_extensions.ts'

/** One statement at a time, so that no transaction locks several tables. All of them may be repeated. */
export const config = { transaction: false }

/** Rows that seeds and other programs write need only what the database cannot know. */
const DEFAULTS: [table: string, defaults: Record<string, string>][] = [
  ['users', { id: NEW_ID, created_at: 'now()', updated_at: 'now()' }],
  ['credentials', { updated_at: 'now()' }],
  ['memberships', { created_at: 'now()' }],
  ['channels', { status: `'connected'` }],
  ['contact_identities', { id: NEW_ID, created_at: 'now()' }],
  ['consent_entries', { id: NEW_ID, created_at: 'now()' }],
  ['conversations', { status: `'active'` }],
  ['messages', { type: `'text'` }],
  ['workflows', { status: `'draft'`, draft: `'{"version": 1, "triggers": [], "steps": []}'` }],
  ['broadcasts', { status: `'draft'` }],
]

export async function up(knex: Knex): Promise<void> {
  await alter(knex, (column, value) => `alter column ${column} set default ${value}`)
}

export async function down(knex: Knex): Promise<void> {
  await alter(knex, (column) => `alter column ${column} drop default`)
}

async function alter(knex: Knex, toAction: (column: string, value: string) => string): Promise<void> {
  for (const [table, defaults] of DEFAULTS) {
    const actions = Object.entries(defaults).map(([column, value]) => toAction(column, value))
    await knex.schema.raw(`alter table ${table} ${actions.join(', ')}`)
  }
}
