import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table sessions (
      id uuid primary key,
      user_id uuid not null references users on delete cascade,
      token_hash bytea not null unique check (length(token_hash) = 32),
      previous_token_hash bytea unique check (length(previous_token_hash) = 32),
      created_at timestamptz(3) not null,
      renewed_at timestamptz(3) not null,
      confirmed_at timestamptz(3),
      expires_at timestamptz(3) not null,
      ip_address text,
      user_agent text
    );
    create index sessions_user on sessions (user_id);
    create index sessions_expiry on sessions (expires_at);
    create table password_resets (
      token_hash bytea primary key check (length(token_hash) = 32),
      user_id uuid not null references users on delete cascade,
      created_at timestamptz(3) not null,
      expires_at timestamptz(3) not null
    );
    create index password_resets_user on password_resets (user_id);
    create index password_resets_expiry on password_resets (expires_at);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop table password_resets; drop table sessions`)
}
