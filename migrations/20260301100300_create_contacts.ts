import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table contacts (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      name text not null,
      phone text,
      email text,
      username text,
      language text,
      country text,
      timezone text,
      fields jsonb not null default '{}',
      marketing_consent text not null default 'unknown' check (marketing_consent in ('unknown', 'opted_in', 'opted_out')),
      consent_source text,
      consent_at timestamptz(3),
      blocked boolean not null default false,
      external_id text,
      source text not null check (source in ('api', 'import', 'inbound', 'manual', 'workflow')),
      last_inbound_at timestamptz(3),
      last_outbound_at timestamptz(3),
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      primary key (tenant_id, id),
      unique (tenant_id, phone),
      unique (tenant_id, external_id)
    ) with (fillfactor = 85);
    create index contacts_tenant_id_created_at_id_idx on contacts (tenant_id, created_at desc, id desc);

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
    create unique index tags_tenant_id_lower_name_key on tags (tenant_id, lower(name));
    create table contact_tags (
      tenant_id uuid not null,
      contact_id uuid not null,
      tag_id uuid not null,
      created_at timestamptz(3) not null,
      primary key (tenant_id, contact_id, tag_id),
      foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade,
      foreign key (tenant_id, tag_id) references tags (tenant_id, id) on delete cascade
    );
    create index contact_tags_tenant_id_tag_id_idx on contact_tags (tenant_id, tag_id);

    create table groups (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      name text not null,
      description text,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      primary key (tenant_id, id)
    );
    create unique index groups_tenant_id_lower_name_key on groups (tenant_id, lower(name));
    create table group_contacts (
      tenant_id uuid not null,
      group_id uuid not null,
      contact_id uuid not null,
      created_at timestamptz(3) not null,
      primary key (tenant_id, group_id, contact_id),
      foreign key (tenant_id, group_id) references groups (tenant_id, id) on delete cascade,
      foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade
    );
    create index group_contacts_tenant_id_group_id_created_at_contact_id_idx
      on group_contacts (tenant_id, group_id, created_at desc, contact_id desc);
    create index group_contacts_tenant_id_contact_id_idx on group_contacts (tenant_id, contact_id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table group_contacts, groups, contact_tags, tags, contacts')
}
