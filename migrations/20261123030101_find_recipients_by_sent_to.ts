import type { Knex } from 'knex'

export const config = { transaction: false }

const INDEX = 'broadcast_recipients_tenant_id_broadcast_id_sent_to_used_idx'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw('set lock_timeout = 0')
  await knex.schema.raw(`drop index concurrently if exists ${INDEX}`)
  await knex.schema.raw(`
    create index concurrently ${INDEX} on broadcast_recipients (tenant_id, broadcast_id, sent_to)
      where sent_to is not null
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop index concurrently if exists ${INDEX}`)
}
