import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- A template language such as pt_BR, and an ISO 3166-1 alpha-2 code. Null: the workspace has not chosen one.
    alter table workspaces add column language text, add column country text;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('alter table workspaces drop column language, drop column country')
}
