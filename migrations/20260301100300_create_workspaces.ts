import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table workspaces (
      id uuid primary key,
      name text not null,
      timezone text not null default 'UTC',
      default_language text,
      default_country text,
      settings jsonb not null default '{}',
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null
    );
    create table memberships (
      workspace_id uuid not null references workspaces on delete cascade,
      user_id uuid not null references users on delete cascade,
      role text not null check (role in ('owner', 'admin', 'agent', 'viewer')),
      created_at timestamptz(3) not null,
      primary key (workspace_id, user_id)
    );
    create index memberships_user on memberships (user_id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop table memberships; drop table workspaces`)
}
