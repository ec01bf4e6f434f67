import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Who is alive among the processes that answer bells. The jobs of one who fell silent are freed by the others.
    create table workers (
      id text primary key,
      seen_at timestamptz(3) not null
    );
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table workers')
}
