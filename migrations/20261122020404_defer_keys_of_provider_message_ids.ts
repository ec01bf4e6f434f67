import type { Knex } from 'knex'

/** One statement stores the IDs, which tell new messages from repeated ones, and then the new messages. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    alter table provider_message_ids
      alter constraint provider_message_ids_tenant_id_message_id_fkey deferrable initially deferred
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(
    'alter table provider_message_ids alter constraint provider_message_ids_tenant_id_message_id_fkey not deferrable',
  )
}
