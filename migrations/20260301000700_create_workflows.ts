import type { Knex } from 'knex'
import { IN_YEARS, NEW_ID } from './20260301000000_create_extensions.ts'

/** Columns that record who did something have no foreign key: they keep the ID of a member who has left. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table workflows (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null default ${NEW_ID},
      name text not null,
      description text,
      status text not null check (status in ('draft', 'published', 'paused', 'archived')),
      draft jsonb not null,
      draft_revision integer not null default 1,
      draft_hash text,
      -- A hash of another revision is out of date: a program that stores none has changed the draft.
      draft_hash_revision integer,
      version integer,
      published_at timestamptz(3) check (published_at ${IN_YEARS}),
      created_by uuid,
      created_at timestamptz(3) not null default now() check (created_at ${IN_YEARS}),
      updated_at timestamptz(3) not null default now() check (updated_at ${IN_YEARS}),
      primary key (tenant_id, id)
    );
    create index workflows_tenant_id_created_at_id_idx on workflows (tenant_id, created_at desc, id desc);

    create table workflow_versions (
      tenant_id uuid not null,
      workflow_id uuid not null,
      version integer not null,
      hash text not null,
      definition jsonb not null,
      compiled jsonb not null,
      note text,
      published_by uuid,
      published_at timestamptz(3) not null,
      primary key (tenant_id, workflow_id, version),
      foreign key (tenant_id, workflow_id) references workflows (tenant_id, id) on delete cascade
    );

    create table schedules (
      tenant_id uuid not null,
      workflow_id uuid not null,
      -- Identifies a schedule by its settings, so that publishing an unchanged schedule keeps its row.
      key text not null,
      cron text,
      at timestamptz(3),
      timezone text not null,
      group_id uuid,
      next_at timestamptz(3),
      -- The last contact of the group for whom the runs due at next_at have been started.
      cursor uuid,
      created_at timestamptz(3) not null,
      primary key (tenant_id, workflow_id, key),
      constraint schedules_cron_at_check check ((cron is null) <> (at is null)),
      foreign key (tenant_id, workflow_id) references workflows (tenant_id, id) on delete cascade,
      foreign key (tenant_id, group_id) references groups (tenant_id, id) on delete cascade
    );
    create index schedules_tenant_id_group_id_not_null_idx on schedules (tenant_id, group_id) where group_id is not null;
    -- Due schedules are looked up across all tenants.
    create index schedules_next_at_not_null_idx on schedules (next_at) where next_at is not null;

    create table workflow_webhooks (
      tenant_id uuid not null,
      id uuid not null,
      workflow_id uuid not null,
      -- Sealed. Null: no secret has been created yet, and every call is rejected.
      secret bytea,
      rotated_at timestamptz(3),
      created_at timestamptz(3) not null,
      primary key (tenant_id, id),
      unique (tenant_id, workflow_id),
      foreign key (tenant_id, workflow_id) references workflows (tenant_id, id) on delete cascade
    );
    -- Maps a webhook to its tenant. A call names a webhook and no tenant.
    create table workflow_webhook_routes (
      webhook_id uuid primary key,
      tenant_id uuid not null references workspaces on delete cascade
    );
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(
    'drop table workflow_webhook_routes, workflow_webhooks, schedules, workflow_versions, workflows',
  )
}
