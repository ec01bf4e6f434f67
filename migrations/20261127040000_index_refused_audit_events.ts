import type { Knex } from 'knex'

/** Few events are refused attempts, so a list of them must not read all the others. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create index audit_events_tenant_id_created_at_id_refused_idx on audit_events (tenant_id, created_at, id)
      where outcome = 'refused'
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop index audit_events_tenant_id_created_at_id_refused_idx')
}
