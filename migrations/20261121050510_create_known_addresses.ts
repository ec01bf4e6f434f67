import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Hashes of the addresses from which a user has signed in. Limits of guessing from elsewhere do not apply to them.
    create table known_addresses (
      user_id uuid not null references users on delete cascade,
      address_hash bytea not null check (octet_length(address_hash) = 32),
      seen_at timestamptz(3) not null,
      primary key (user_id, address_hash)
    );
    create index known_addresses_seen_at_idx on known_addresses (seen_at)
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table known_addresses')
}
