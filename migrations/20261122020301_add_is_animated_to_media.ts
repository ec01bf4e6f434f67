import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  // Null for files that are no WebP, and for those that were stored before there was this column.
  await knex.schema.raw('alter table media add column is_animated boolean')
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('alter table media drop column is_animated')
}
