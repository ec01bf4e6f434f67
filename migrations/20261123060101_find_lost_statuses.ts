import type { Knex } from 'knex'

/**
 * Statuses that older versions did not apply, although the provider's ID of their message is stored, become recent, so
 * that the periodic task for forgotten statuses applies them with their events.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    update message_statuses s set created_at = now() from provider_message_ids r
    where s.message_id is null and r.tenant_id = s.tenant_id and r.channel_id = s.channel_id
      and r.provider_message_id = s.provider_message_id
  `)
}

export async function down(): Promise<void> {}
