import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Text of the last handoff for the members. It applies while automation_reason is handoff.
    alter table conversations add column handoff_reason text;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('alter table conversations drop column handoff_reason')
}
