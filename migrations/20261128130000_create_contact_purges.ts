import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- The deleted contacts of which messages, runs or data of events are left. Nobody sees these, and a periodic task
    -- deletes them in portions, and then the row. The rows of the contact and of its conversations are gone.
    create table contact_purges (
      tenant_id uuid not null,
      contact_id uuid not null,
      -- Numbers of deleted rows by table.
      counts jsonb not null,
      deleted_at timestamptz(3) not null,
      primary key (tenant_id, contact_id)
    )
  `)
  await knex.schema.raw(`
    do $$ begin
      if to_regclass('citus_tables') is not null then
        set local citus.multi_shard_modify_mode = 'sequential';
        perform create_distributed_table('contact_purges', 'tenant_id', colocate_with => 'contacts')
          from citus_tables where table_name = 'contacts'::regclass;
      end if;
    end $$
  `)
  await knex.schema.raw(
    'alter table contact_purges add foreign key (tenant_id) references workspaces (id) on delete cascade',
  )
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table contact_purges')
}
