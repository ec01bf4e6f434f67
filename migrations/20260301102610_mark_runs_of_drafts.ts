import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  // A run is of a version; one that tried a draft is of the version that it was tried beside, and says so.
  await knex.schema.raw(`alter table runs add column of_draft boolean`)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`alter table runs drop column of_draft`)
}
