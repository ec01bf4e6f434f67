import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Changes to the built-in keywords. Null: there are none.
    alter table workspaces add column consent_keywords jsonb;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('alter table workspaces drop column consent_keywords')
}
