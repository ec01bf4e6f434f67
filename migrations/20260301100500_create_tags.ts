import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table tags (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      name text not null,
      color text not null check (color ~ '^#[0-9A-F]{6}$'),
      description text,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      primary key (tenant_id, id)
    );
    create unique index tags_name on tags (tenant_id, lower(name));
    create table contact_tags (
      tenant_id uuid not null,
      contact_id uuid not null,
      tag_id uuid not null,
      created_at timestamptz(3) not null,
      primary key (tenant_id, contact_id, tag_id),
      foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade,
      foreign key (tenant_id, tag_id) references tags (tenant_id, id) on delete cascade
    );
    create index contact_tags_tag on contact_tags (tenant_id, tag_id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop table contact_tags; drop table tags`)
}
