import type { Knex } from 'knex'

/** An index is created concurrently outside of a transaction. */
export const config = { transaction: false }

/** Few events are refused attempts, so a list of them must not read all the others. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('set lock_timeout = 0')
  await knex.raw('drop index concurrently if exists audit_events_tenant_id_created_at_id_refused_idx')
  await knex.raw(`
    create index concurrently audit_events_tenant_id_created_at_id_refused_idx on audit_events (tenant_id, created_at, id)
      where outcome = 'refused'
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('set lock_timeout = 0')
  await knex.raw('drop index concurrently if exists audit_events_tenant_id_created_at_id_refused_idx')
}
