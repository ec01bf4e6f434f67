import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table workflows (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      name text not null,
      description text,
      status text not null check (status in ('draft', 'published', 'paused', 'archived')),
      draft jsonb not null,
      draft_revision integer not null default 1,
      version integer,
      published_at timestamptz(3),
      created_by uuid,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      primary key (tenant_id, id),
      foreign key (tenant_id, created_by) references memberships (workspace_id, user_id) on delete set null (created_by)
    );
    create index workflows_newest on workflows (tenant_id, created_at desc, id desc);
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
      foreign key (tenant_id, workflow_id) references workflows (tenant_id, id) on delete cascade,
      foreign key (tenant_id, published_by) references memberships (workspace_id, user_id) on delete set null (published_by)
    );
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop table workflow_versions; drop table workflows`)
}
