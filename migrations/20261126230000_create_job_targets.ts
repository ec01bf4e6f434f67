import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- What a job acts on, fixed when it was created: rows that match its filter later are none of its lines.
    create table job_targets (
      tenant_id uuid not null,
      job_id uuid not null,
      line integer not null,
      target_id uuid not null,
      primary key (tenant_id, job_id, line)
    )
  `)
  await knex.schema.raw(`
    do $$ begin
      if to_regclass('citus_tables') is not null then
        set local citus.multi_shard_modify_mode = 'sequential';
        perform create_distributed_table('job_targets', 'tenant_id', colocate_with => 'contacts')
          from citus_tables where table_name = 'contacts'::regclass;
      end if;
    end $$
  `)
  await knex.schema.raw(
    'alter table job_targets add foreign key (tenant_id, job_id) references jobs (tenant_id, id) on delete cascade',
  )
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table job_targets')
}
