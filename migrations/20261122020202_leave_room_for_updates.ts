import type { Knex } from 'knex'

/**
 * A message changes its status up to four times, and a batch changes all rows of a page at once. Without room for them in
 * the page, the new versions go to other pages, and each is written to all indexes.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    alter table messages set (fillfactor = 50);
    alter table outbox set (fillfactor = 50);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    alter table messages set (fillfactor = 85);
    alter table outbox set (fillfactor = 70);
  `)
}
