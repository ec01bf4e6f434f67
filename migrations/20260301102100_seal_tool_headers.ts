import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- What a tool sends along may be a secret. A row from before keeps its headers in config until it is next written:
    -- the key that seals them is no database's to have.
    alter table tools add column sealed_headers bytea;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`alter table tools drop column sealed_headers`)
}
