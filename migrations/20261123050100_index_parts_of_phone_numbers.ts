import type { Knex } from 'knex'

export const config = { transaction: false }

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw('set lock_timeout = 0')
  await knex.schema.raw('drop index concurrently if exists contacts_tenant_id_phone_trigrams_idx')
  await knex.schema.raw(`
    create index concurrently contacts_tenant_id_phone_trigrams_idx on contacts
      using gin (tenant_id, ltrim(phone, '+') gin_trgm_ops)
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop index contacts_tenant_id_phone_trigrams_idx')
}
