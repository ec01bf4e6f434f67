import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create index conversations_assignee on conversations (tenant_id, assignee_id) where assignee_id is not null;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop index conversations_assignee`)
}
