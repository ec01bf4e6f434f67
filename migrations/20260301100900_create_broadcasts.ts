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

    create table broadcasts (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      name text not null,
      description text,
      status text not null check (status in
        ('draft', 'scheduled', 'preparing', 'sending', 'paused', 'completed', 'canceled', 'failed')),
      channel_id uuid not null,
      template_id uuid not null,
      params jsonb not null default '{}',
      audience jsonb not null default '{}',
      counts jsonb not null default '{}',
      scheduled_at timestamptz(3),
      started_at timestamptz(3),
      completed_at timestamptz(3),
      created_by uuid,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      primary key (tenant_id, id),
      foreign key (tenant_id, channel_id) references channels (tenant_id, id),
      foreign key (tenant_id, template_id) references templates (tenant_id, id),
      foreign key (tenant_id, created_by) references memberships (workspace_id, user_id) on delete set null (created_by)
    );
    create index broadcasts_tenant_id_created_at_id_idx on broadcasts (tenant_id, created_at desc, id desc);

    create table broadcast_recipients (
      tenant_id uuid not null,
      id uuid not null,
      broadcast_id uuid not null,
      contact_id uuid not null,
      address text not null,
      status text not null check (status in
        ('pending', 'sending', 'sent', 'delivered', 'read', 'failed', 'skipped', 'canceled', 'unknown')),
      skip_reason text,
      error jsonb,
      params jsonb not null default '{}',
      attempt integer not null default 0,
      sent_at timestamptz(3),
      delivered_at timestamptz(3),
      read_at timestamptz(3),
      failed_at timestamptz(3),
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      primary key (tenant_id, id),
      unique (tenant_id, broadcast_id, contact_id),
      unique (tenant_id, broadcast_id, address),
      foreign key (tenant_id, broadcast_id) references broadcasts (tenant_id, id) on delete cascade,
      foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade
    );
    create index broadcast_recipients_tenant_id_broadcast_id_created_at_id_idx
      on broadcast_recipients (tenant_id, broadcast_id, created_at desc, id desc);
    create index broadcast_recipients_tenant_id_contact_id_idx on broadcast_recipients (tenant_id, contact_id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table broadcast_recipients, broadcasts, templates')
}
