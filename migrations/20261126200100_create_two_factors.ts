import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Second factors of users, without a foreign key: the table is on the coordinator of a distributed database.
    create table two_factors (
      user_id uuid primary key,
      sealed_secret bytea not null,
      -- Hashes of the recovery codes that have not been used.
      recovery_hashes bytea[] not null,
      -- The time step of the last accepted code. Codes of this step and of earlier ones are not accepted again.
      last_step bigint not null default 0,
      -- Null until the first code was accepted; before that, signing in needs none.
      enabled_at timestamptz(3),
      created_at timestamptz(3) not null
    );
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table two_factors')
}
