import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- The data of custom events, which may be personal: they are deleted with their contact, and with their event.
    create table event_payloads (
      tenant_id uuid not null,
      event_id uuid not null,
      contact_id uuid not null,
      payload jsonb not null,
      primary key (tenant_id, event_id)
    );
    create index event_payloads_tenant_id_contact_id_idx on event_payloads (tenant_id, contact_id);
  `)
  await knex.schema.raw(`
    do $$ begin
      if to_regclass('citus_tables') is not null then
        set local citus.multi_shard_modify_mode = 'sequential';
        perform create_distributed_table('event_payloads', 'tenant_id', colocate_with => 'contacts')
          from citus_tables where table_name = 'contacts'::regclass;
      end if;
    end $$
  `)
  await knex.schema.raw(
    'alter table event_payloads add foreign key (tenant_id, event_id) references events (tenant_id, id) on delete cascade',
  )
  await knex.schema.raw(
    'alter table event_payloads add foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade',
  )
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table event_payloads')
}
