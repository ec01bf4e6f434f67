import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Last time at which replies were waiting. For a while after it, broadcasts are queued in smaller batches.
    alter table channel_pacing add column answering_at timestamptz(3);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('alter table channel_pacing drop column answering_at')
}
