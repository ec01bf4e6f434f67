import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
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
  await knex.schema.raw('drop table provider_media')
}
