import type { Knex } from 'knex'
import { IN_YEARS, NEW_ID } from './20260301000000_create_extensions.ts'

const TABLES = ['webhook_endpoints', 'webhook_deliveries', 'webhook_bodies']

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Receivers of events on servers of the workspace's own.
    create table webhook_endpoints (
      tenant_id uuid not null,
      id uuid not null default ${NEW_ID},
      url text not null,
      description text,
      -- Types of events, and patterns. Null: all.
      types text[],
      payload text not null check (payload in ('full', 'thin')),
      -- Encrypted. Deliveries are signed with the previous one as well until its end.
      secret bytea not null,
      previous_secret bytea,
      previous_expires_at timestamptz(3),
      status text not null check (status in ('enabled', 'disabled')),
      disabled_reason text check (disabled_reason in ('requested', 'failures', 'gone')),
      -- Events up to this position have been sent once, or are of other types.
      position bigint not null,
      -- The time of the next retry.
      due_at timestamptz(3),
      -- Nothing is sent before, as the receiver has asked for, or because it does not answer.
      paused_until timestamptz(3),
      -- The first failure since the last success, and the last one.
      failing_since timestamptz(3),
      failed_at timestamptz(3),
      -- The last time at which events had been deleted before they were sent.
      gap_at timestamptz(3),
      -- One process at a time sends to an endpoint. Only the last one that has claimed it can record results.
      leased_until timestamptz(3),
      claim_count integer not null default 0,
      -- The email about its being disabled is due.
      email_due_at timestamptz(3),
      email_attempts integer not null default 0,
      created_by jsonb not null,
      -- Deleted for everybody; a worker deletes its deliveries, which may be many, and then the row.
      deleted_at timestamptz(3),
      created_at timestamptz(3) not null default now() check (created_at ${IN_YEARS}),
      updated_at timestamptz(3) not null default now() check (updated_at ${IN_YEARS}),
      primary key (tenant_id, id)
    );
    create index webhook_endpoints_email_due_at_not_null_idx on webhook_endpoints (email_due_at)
      where email_due_at is not null;
    create index webhook_endpoints_deleted_at_not_null_idx on webhook_endpoints (deleted_at) where deleted_at is not null;

    -- Events that were sent to an endpoint at least once, with the latest attempts. They have IDs only, as events.
    create table webhook_deliveries (
      tenant_id uuid not null,
      id uuid not null default ${NEW_ID},
      endpoint_id uuid not null,
      event_id uuid not null,
      type text not null,
      data jsonb not null,
      position bigint not null,
      event_at timestamptz(3) not null,
      status text not null check (status in ('delivered', 'waiting', 'failed')),
      attempt_count integer not null,
      attempts jsonb not null,
      due_at timestamptz(3),
      delivered_at timestamptz(3),
      created_at timestamptz(3) not null default now() check (created_at ${IN_YEARS}),
      updated_at timestamptz(3) not null default now() check (updated_at ${IN_YEARS}),
      primary key (tenant_id, id),
      unique (tenant_id, endpoint_id, event_id)
    );
    create index webhook_deliveries_tenant_id_endpoint_id_status_id_idx
      on webhook_deliveries (tenant_id, endpoint_id, status, id);
    create index webhook_deliveries_tenant_id_endpoint_id_due_at_waiting_idx
      on webhook_deliveries (tenant_id, endpoint_id, due_at) where status = 'waiting';
    create index webhook_deliveries_updated_at_idx on webhook_deliveries (updated_at);

    -- The encrypted bodies of deliveries that are sent again, so that each attempt has the same one. They have content, and
    -- are deleted with the contact that it is about.
    create table webhook_bodies (
      tenant_id uuid not null,
      delivery_id uuid not null,
      contact_id uuid,
      body bytea not null,
      primary key (tenant_id, delivery_id)
    );
    create index webhook_bodies_tenant_id_contact_id_idx on webhook_bodies (tenant_id, contact_id);
  `)
  for (const table of TABLES) {
    await knex.schema.raw(`
      do $$ begin
        if to_regclass('citus_tables') is not null then
          set local citus.multi_shard_modify_mode = 'sequential';
          perform create_distributed_table('${table}', 'tenant_id', colocate_with => 'contacts')
            from citus_tables where table_name = 'contacts'::regclass;
        end if;
      end $$`)
    await knex.schema.raw(
      `alter table ${table} add foreign key (tenant_id) references workspaces (id) on delete cascade`,
    )
  }
  await knex.schema.raw(`
    alter table webhook_deliveries add foreign key (tenant_id, endpoint_id)
      references webhook_endpoints (tenant_id, id) on delete cascade;
    alter table webhook_bodies add foreign key (tenant_id, delivery_id)
      references webhook_deliveries (tenant_id, id) on delete cascade;
    alter table webhook_bodies add foreign key (tenant_id, contact_id)
      references contacts (tenant_id, id) on delete cascade;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table webhook_bodies, webhook_deliveries, webhook_endpoints')
}
