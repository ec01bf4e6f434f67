import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Maps a webhook to its tenant. A call names a webhook and no tenant.
    create table workflow_webhook_routes (
      webhook_id uuid primary key,
      tenant_id uuid not null references workspaces on delete cascade
    );
    insert into workflow_webhook_routes (webhook_id, tenant_id) select id, tenant_id from workflow_webhooks;
    drop index workflow_webhooks_id_key;

    -- Every node of a distributed database has the routes, which cannot have a foreign key to rows of one node.
    alter table channel_routes
      drop constraint channel_routes_tenant_id_channel_id_fkey,
      add constraint channel_routes_tenant_id_fkey foreign key (tenant_id) references workspaces on delete cascade;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    delete from channel_routes r
      where not exists (select from channels c where c.tenant_id = r.tenant_id and c.id = r.channel_id);
    alter table channel_routes
      drop constraint channel_routes_tenant_id_fkey,
      add foreign key (tenant_id, channel_id) references channels (tenant_id, id) on delete cascade;
    create unique index workflow_webhooks_id_key on workflow_webhooks (id);
    drop table workflow_webhook_routes;
  `)
}
