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
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop table credentials; drop table users`)
}
