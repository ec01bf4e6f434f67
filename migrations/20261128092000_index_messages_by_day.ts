import type { Knex } from 'knex'

/** An index is created concurrently outside of a transaction. */
export const config = { transaction: false }

/** Counts the messages of a day by their direction without reading them. No update of a message changes its columns. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('set lock_timeout = 0')
  await knex.raw('drop index concurrently if exists messages_tenant_id_created_at_direction_idx')
  await knex.raw(`
    create index concurrently messages_tenant_id_created_at_direction_idx on messages (tenant_id, created_at, direction)
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('set lock_timeout = 0')
  await knex.raw('drop index concurrently if exists messages_tenant_id_created_at_direction_idx')
}
