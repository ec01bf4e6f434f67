import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table templates (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      channel_id uuid not null,
      name text not null check (name ~ '^[a-z0-9_]+$' and length(name) <= 512),
      language text not null,
      category text not null check (category in ('marketing', 'utility', 'authentication')),
      status text not null check (status in ('draft', 'pending', 'approved', 'rejected', 'paused', 'disabled')),
      body text not null,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      primary key (tenant_id, id),
      unique (tenant_id, channel_id, name, language),
      foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade
    );
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop table templates`)
}
