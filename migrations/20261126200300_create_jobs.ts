import type { Knex } from 'knex'
import { IN_YEARS, NEW_ID } from './20260301000000_create_extensions.ts'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Work on many rows in the background, a portion at a time.
    create table jobs (
      tenant_id uuid not null,
      id uuid not null default ${NEW_ID},
      type text not null,
      status text not null check (status in ('queued', 'running', 'completed', 'failed', 'canceled')),
      -- What the type of the job needs to know.
      input jsonb not null,
      -- Hash by which the same call finds the job again. Null if there is none, and if it failed or was canceled.
      digest bytea check (length(digest) = 32),
      -- Position of the next portion; null at the beginning.
      cursor jsonb,
      -- The number of portions that are stored: of two workers with the same portion, one stores it.
      portions integer not null default 0,
      -- True while the file store has a file under the ID of the job.
      has_file boolean not null default false,
      -- The number of lines, and those of the lines that are stored, by their results.
      total integer not null check (total >= 0),
      created_count integer not null default 0,
      updated_count integer not null default 0,
      unchanged_count integer not null default 0,
      failed_count integer not null default 0,
      -- Unexpected errors since the last portion that was stored.
      attempts integer not null default 0,
      error jsonb,
      -- The member or key that created it, with what it was allowed.
      actor jsonb not null,
      -- Time from which a worker may take it. Null once it has ended.
      work_at timestamptz(3),
      -- Time of the last event of its progress.
      progress_at timestamptz(3),
      started_at timestamptz(3),
      finished_at timestamptz(3),
      created_at timestamptz(3) not null default now() check (created_at ${IN_YEARS}),
      updated_at timestamptz(3) not null default now() check (updated_at ${IN_YEARS}),
      primary key (tenant_id, id)
    );
    create index jobs_tenant_id_created_at_id_idx on jobs (tenant_id, created_at desc, id desc);
    create unique index jobs_tenant_id_digest_not_null_key on jobs (tenant_id, digest) where digest is not null;
    create index jobs_tenant_id_created_at_id_open_idx on jobs (tenant_id, created_at, id) where work_at is not null;
    create index jobs_work_at_not_null_idx on jobs (work_at) where work_at is not null;
    create index jobs_finished_at_not_null_idx on jobs (finished_at) where finished_at is not null;

    -- The result of each line, stored in the transaction of its effects.
    create table job_items (
      tenant_id uuid not null,
      job_id uuid not null,
      line integer not null,
      status text not null check (status in ('created', 'updated', 'unchanged', 'failed')),
      target_id uuid,
      error jsonb,
      primary key (tenant_id, job_id, line)
    );
    create index job_items_tenant_id_job_id_line_failed_idx on job_items (tenant_id, job_id, line)
      where status = 'failed';
  `)
  await knex.schema.raw(`
    do $$ begin
      if to_regclass('citus_tables') is not null then
        set local citus.multi_shard_modify_mode = 'sequential';
        perform create_distributed_table('jobs', 'tenant_id', colocate_with => 'contacts')
          from citus_tables where table_name = 'contacts'::regclass;
        perform create_distributed_table('job_items', 'tenant_id', colocate_with => 'contacts')
          from citus_tables where table_name = 'contacts'::regclass;
      end if;
    end $$
  `)
  await knex.schema.raw('alter table jobs add foreign key (tenant_id) references workspaces (id) on delete cascade')
  await knex.schema.raw(
    'alter table job_items add foreign key (tenant_id, job_id) references jobs (tenant_id, id) on delete cascade',
  )
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table job_items')
  await knex.schema.raw('drop table jobs')
}
