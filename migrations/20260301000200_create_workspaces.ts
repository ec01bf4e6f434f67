import type { Knex } from 'knex'
import { NEW_ID } from './20260301000000_create_extensions.ts'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- A workspace is a tenant: the id of a workspace is the tenant_id of all its rows.
    create table workspaces (
      id uuid primary key default ${NEW_ID},
      name text not null,
      timezone text not null default 'UTC',
      -- Changes to the built-in keywords. Null: there are none.
      consent_keywords jsonb,
      -- Days after which rows are deleted, by kind. Null: everything is kept.
      retention jsonb,
      created_at timestamptz(3) not null default now(),
      updated_at timestamptz(3) not null default now()
    );
    create table memberships (
      workspace_id uuid not null references workspaces on delete cascade,
      user_id uuid not null references users on delete cascade,
      role text not null check (role in ('owner', 'admin', 'agent', 'viewer')),
      -- Round-robin assignment picks the member with the oldest value. Null: never assigned, first in line.
      last_assigned_at timestamptz(3),
      created_at timestamptz(3) not null,
      primary key (workspace_id, user_id)
    );
    create index memberships_user_id_idx on memberships (user_id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table memberships, workspaces')
}
