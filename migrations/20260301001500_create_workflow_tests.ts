import type { Knex } from 'knex'
import { IN_YEARS } from './20260301000000_create_extensions.ts'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table workflow_tests (
      tenant_id uuid not null,
      id uuid not null,
      workflow_id uuid not null,
      name text not null,
      trigger jsonb,
      input jsonb,
      dialogue jsonb not null,
      step_outputs jsonb not null,
      contact jsonb,
      starts_at timestamptz(3) not null,
      -- True if the first message of the dialogue is the first of its conversation.
      opens_conversation boolean not null,
      expectation jsonb not null,
      source_run_id uuid,
      created_by uuid,
      created_at timestamptz(3) not null check (created_at ${IN_YEARS}),
      updated_at timestamptz(3) not null check (updated_at ${IN_YEARS}),
      primary key (tenant_id, id),
      foreign key (tenant_id, workflow_id) references workflows (tenant_id, id) on delete cascade,
      foreign key (tenant_id, source_run_id) references runs (tenant_id, id)
    );
    create unique index workflow_tests_tenant_id_workflow_id_name_key on workflow_tests (tenant_id, workflow_id, name);
    create index workflow_tests_tenant_id_source_run_id_not_null_idx on workflow_tests (tenant_id, source_run_id)
      where source_run_id is not null;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table workflow_tests')
}
