import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Bodies of genuine webhook calls, as they arrived. The id is derived from the body, so a repeated call has one row.
    create table channel_webhooks (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      channel_id uuid not null,
      body bytea not null,
      status text not null check (status in ('processed', 'pending', 'failed', 'rejected')),
      -- Counts of the parts and names of what is unknown; null if the body could not be parsed.
      outcome jsonb,
      error jsonb,
      attempts integer not null,
      due_at timestamptz(3),
      created_at timestamptz(3) not null,
      primary key (tenant_id, id),
      foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade
    );
    create index channel_webhooks_tenant_id_channel_id_created_at_id_idx
      on channel_webhooks (tenant_id, channel_id, created_at desc, id desc);
    -- Most webhooks are processed: finds the others without reading them.
    create index channel_webhooks_tenant_id_channel_id_created_at_failed_idx
      on channel_webhooks (tenant_id, channel_id, created_at desc) where status <> 'processed';
    create index channel_webhooks_created_at_idx on channel_webhooks (created_at);
    create index channel_webhooks_due_at_not_null_idx on channel_webhooks (due_at) where due_at is not null;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table channel_webhooks')
}
