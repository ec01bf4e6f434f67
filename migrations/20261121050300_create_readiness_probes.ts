import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- One row per process that is asked for its readiness: the proof that the database stores rows.
    create table readiness_probes (
      id uuid primary key,
      checked_at timestamptz(3) not null,
      padding text not null
    );
    -- The padding stays in the row, so that a probe needs space on the disk.
    alter table readiness_probes alter column padding set storage plain;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table readiness_probes')
}
