import type { Knex } from 'knex'

const TABLES = ['workflows', 'workflow_tests', 'broadcasts']

/**
 * The type of the actor whose ID is in `created_by`. Null in rows of versions that do not store it: their creators are
 * found among keys and accounts by the ID.
 */
export async function up(knex: Knex): Promise<void> {
  // One statement at a time: Citus sends the text to the nodes as it is.
  await knex.schema.raw(`set local citus.multi_shard_modify_mode = 'sequential'`)
  for (const table of TABLES) await knex.schema.raw(`alter table ${table} add column created_by_type text`)
}

export async function down(knex: Knex): Promise<void> {
  for (const table of TABLES) await knex.schema.raw(`alter table ${table} drop column created_by_type`)
}
