import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- A hash of another revision is out of date: a program that stores none has changed the draft.
    alter table workflows add column draft_hash text, add column draft_hash_revision integer;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('alter table workflows drop column draft_hash, drop column draft_hash_revision')
}
