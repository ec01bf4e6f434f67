import type { Knex } from 'knex'
import { IN_YEARS } from './20260301000000_create_extensions.ts'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Written in the transaction of the change. Rows have IDs, names of fields and values of enums, and no names of people:
    -- readers look these up, so nothing of a deleted contact or account remains here.
    create table audit_events (
      tenant_id uuid not null,
      id uuid not null,
      -- The path of a procedure, such as contacts.update.
      action text not null,
      outcome text not null check (outcome in ('succeeded', 'refused')),
      actor_type text not null check (actor_type in ('user', 'key', 'system')),
      actor_id uuid,
      -- The first ones, each {type, id}. target_ids are their IDs, by which they are found.
      targets jsonb not null,
      target_ids uuid[] not null,
      target_count integer not null check (target_count >= 0),
      -- Each {name}, with from and to if these are values of enums, booleans or IDs.
      fields jsonb not null,
      address text,
      user_agent text,
      request_id text not null,
      created_at timestamptz(3) not null check (created_at ${IN_YEARS}),
      primary key (tenant_id, id)
    );
    create index audit_events_tenant_id_created_at_id_idx on audit_events (tenant_id, created_at, id);
    create index audit_events_tenant_id_actor_id_created_at_id_idx on audit_events (tenant_id, actor_id, created_at, id);
    create index audit_events_tenant_id_action_created_at_id_idx on audit_events (tenant_id, action, created_at, id);
    create index audit_events_tenant_id_target_ids_idx on audit_events using gin (tenant_id, target_ids);
    -- Refused attempts are counted before another one is written.
    create index audit_events_tenant_id_actor_id_created_at_refused_idx on audit_events (tenant_id, actor_id, created_at)
      where outcome = 'refused';
    -- Rows are inserted in the order of their time, so a block range index costs inserts almost nothing.
    create index audit_events_created_at_idx on audit_events using brin (created_at);
    do $$ begin
      if to_regclass('citus_tables') is not null then
        set local citus.multi_shard_modify_mode = 'sequential';
        perform create_distributed_table('audit_events', 'tenant_id', colocate_with => 'contacts')
          from citus_tables where table_name = 'contacts'::regclass;
      end if;
    end $$;
    alter table audit_events add foreign key (tenant_id) references workspaces (id) on delete cascade;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table audit_events')
}
