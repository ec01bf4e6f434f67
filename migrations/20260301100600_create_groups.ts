import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table groups (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      name text not null,
      description text,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      primary key (tenant_id, id)
    );
    create unique index groups_name on groups (tenant_id, lower(name));
    create table group_contacts (
      tenant_id uuid not null,
      group_id uuid not null,
      contact_id uuid not null,
      created_at timestamptz(3) not null,
      primary key (tenant_id, group_id, contact_id),
      foreign key (tenant_id, group_id) references groups (tenant_id, id) on delete cascade,
      foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade
    );
    create index group_contacts_newest on group_contacts (tenant_id, group_id, created_at desc, contact_id desc);
    create index group_contacts_contact on group_contacts (tenant_id, contact_id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop table group_contacts; drop table groups`)
}
