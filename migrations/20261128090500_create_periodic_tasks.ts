import type { Knex } from 'knex'

/**
 * The time at which any worker last began each periodic task. Without a row it is due, so the rows may be lost, and no commit waits
 * for them to reach the disk.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create unlogged table periodic_tasks (
      name text primary key,
      ran_at timestamptz(3) not null,
      next_at timestamptz(3) not null
    )`)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table periodic_tasks')
}
