import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Nearly all runs complete, so a list of those is the list of all; the others are few and far between. A run that
    -- completes in the turn in which it starts never enters this index.
    create index runs_status on runs (tenant_id, status, created_at desc, id desc) where status <> 'completed';
    -- In the order in which the runs of a version are listed; those of a workflow are those of its versions, merged.
    drop index runs_workflow;
    create index runs_workflow on runs (tenant_id, workflow_id, workflow_version, created_at desc, id desc);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    drop index runs_workflow;
    create index runs_workflow on runs (tenant_id, workflow_id, workflow_version);
    drop index runs_status;
  `)
}
