import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Stored files. Equal files of a workspace are stored once.
    create table media (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      sha256 text not null,
      mime_type text not null,
      bytes bigint not null,
      filename text,
      -- Null for files that are no WebP.
      is_animated boolean,
      created_at timestamptz(3) not null,
      primary key (tenant_id, id),
      unique (tenant_id, sha256)
    );
    -- Lists the files of a workspace by time, and adds up their sizes without reading the rows.
    create index media_tenant_id_created_at_id_idx on media (tenant_id, created_at, id) include (bytes);

    -- Files that a process puts into the file store or deletes from it. A row that gets old belongs to a process that
    -- ended meanwhile: its file is deleted.
    create table media_writes (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      created_at timestamptz(3) not null,
      primary key (tenant_id, id)
    );
    create index media_writes_created_at_idx on media_writes (created_at);

    -- Files of inbound messages, which are fetched from the provider in the background.
    create table message_media (
      tenant_id uuid not null,
      message_id uuid not null,
      channel_id uuid not null,
      provider_media_id text not null,
      mime_type text,
      filename text,
      sha256 text,
      status text not null check (status in ('pending', 'stored', 'failed')),
      media_id uuid,
      error text,
      attempts integer not null default 0,
      due_at timestamptz(3),
      created_at timestamptz(3) not null,
      primary key (tenant_id, message_id),
      foreign key (tenant_id, message_id) references messages (tenant_id, id) on delete cascade,
      foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade
    );
    create index message_media_tenant_id_due_at_not_null_idx on message_media (tenant_id, due_at) where due_at is not null;
    create index message_media_due_at_not_null_idx on message_media (due_at) where due_at is not null;

    -- Copies of stored files that a provider keeps for a channel, until it deletes them.
    create table provider_media (
      tenant_id uuid not null,
      media_id uuid not null,
      channel_id uuid not null,
      provider_media_id text not null,
      expires_at timestamptz(3) not null,
      primary key (tenant_id, media_id, channel_id),
      foreign key (tenant_id, media_id) references media (tenant_id, id) on delete cascade,
      foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade
    );
    create index provider_media_tenant_id_channel_id_idx on provider_media (tenant_id, channel_id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table provider_media, message_media, media_writes, media')
}
