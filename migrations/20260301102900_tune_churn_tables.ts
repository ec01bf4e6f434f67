import type { Knex } from 'knex'

/** Tables whose rows live for moments. What is dead in them is looked through again by every claim until it is vacuumed. */
const CHURNING = ['inbox', 'outbox', 'run_waits']

export async function up(knex: Knex): Promise<void> {
  for (const table of CHURNING) {
    await knex.schema
      .raw(`alter table ${table} set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
      autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000,
      autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000, autovacuum_vacuum_cost_delay = 0)`)
  }
  await knex.schema.raw(`
    alter table outbox add column conversation_id uuid;
    update outbox o set conversation_id = m.conversation_id from messages m where m.tenant_id = o.tenant_id and m.id = o.message_id;
    alter table outbox alter column conversation_id set not null;
    -- Finds out whether a message is the oldest of its conversation, without looking at the others of its channel.
    create index outbox_conversation on outbox (tenant_id, conversation_id, message_id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop index outbox_conversation; alter table outbox drop column conversation_id`)
  for (const table of CHURNING) {
    await knex.schema.raw(`alter table ${table} reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,
      autovacuum_vacuum_insert_scale_factor, autovacuum_vacuum_insert_threshold,
      autovacuum_analyze_scale_factor, autovacuum_analyze_threshold, autovacuum_vacuum_cost_delay)`)
  }
}
