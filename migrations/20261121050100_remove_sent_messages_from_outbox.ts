import type { Knex } from 'knex'

/** Until now a message stayed in the outbox when the provider reported an attempt that it had answered with an error. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    delete from outbox o using messages m
    where m.tenant_id = o.tenant_id and m.id = o.message_id and m.status not in ('queued', 'sending')
  `)
}

/** The removed rows were of messages that must not be sent again. */
export async function down(): Promise<void> {}
