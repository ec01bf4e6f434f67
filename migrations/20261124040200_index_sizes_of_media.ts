import type { Knex } from 'knex'

export const config = { transaction: false }

/** Lists the files of a workspace by time, and adds up their sizes without reading the rows. */
const INDEX = 'media_tenant_id_created_at_id_idx'

export async function up(knex: Knex): Promise<void> {
  // Building an index waits for older transactions and blocks nobody.
  await knex.schema.raw('set lock_timeout = 0')
  await knex.schema.raw(`drop index concurrently if exists ${INDEX}`)
  await knex.schema.raw(`create index concurrently ${INDEX} on media (tenant_id, created_at, id) include (bytes)`)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop index ${INDEX}`)
}
