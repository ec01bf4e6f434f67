import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Days after which rows are deleted, by kind. Null: everything is kept.
    alter table workspaces add column retention jsonb;
    create index ai_transcripts_tenant_id_created_at_run_id_idx on ai_transcripts (tenant_id, created_at, run_id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    drop index ai_transcripts_tenant_id_created_at_run_id_idx;
    alter table workspaces drop column retention;
  `)
}
