import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table users (
      id uuid primary key,
      email text not null unique check (email = lower(email)),
      name text not null,
      image text,
      email_verified boolean not null default false,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null
    );
    create table credentials (
      user_id uuid primary key references users on delete cascade,
      password_hash text not null,
      updated_at timestamptz(3) not null
    );

    -- A renewed session accepts its previous token for a short time after the new one was first used (confirmed_at).
    create table sessions (
      id uuid primary key,
      user_id uuid not null references users on delete cascade,
      token_hash bytea not null unique check (length(token_hash) = 32),
      previous_token_hash bytea unique check (length(previous_token_hash) = 32),
      ip_address text,
      user_agent text,
      created_at timestamptz(3) not null,
      renewed_at timestamptz(3) not null,
      confirmed_at timestamptz(3),
      expires_at timestamptz(3) not null
    );
    create index sessions_user_id_idx on sessions (user_id);
    create index sessions_expires_at_idx on sessions (expires_at);

    -- Hashes of the addresses from which a user has signed in. Limits of guessing from elsewhere do not apply to them.
    create table known_addresses (
      user_id uuid not null references users on delete cascade,
      address_hash bytea not null check (octet_length(address_hash) = 32),
      seen_at timestamptz(3) not null,
      primary key (user_id, address_hash)
    );
    create index known_addresses_seen_at_idx on known_addresses (seen_at);

    create table password_resets (
      token_hash bytea primary key check (length(token_hash) = 32),
      user_id uuid not null references users on delete cascade,
      created_at timestamptz(3) not null,
      expires_at timestamptz(3) not null
    );
    create index password_resets_user_id_idx on password_resets (user_id);
    create index password_resets_expires_at_idx on password_resets (expires_at);

    -- Password resets that were requested and are not emailed yet. Nobody is waiting for more than one of an address.
    create table password_reset_requests (
      email text primary key,
      -- The page that the email links to; null if it was not named or is not trusted.
      page text,
      attempts integer not null default 0 check (attempts >= 0),
      -- A worker that emails it postpones it first, so that it is repeated if that fails or the worker ends.
      due_at timestamptz(3) not null
    );
    create index password_reset_requests_due_at_idx on password_reset_requests (due_at);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(
    'drop table password_reset_requests, password_resets, known_addresses, sessions, credentials, users',
  )
}
