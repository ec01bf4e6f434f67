import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Time of the newest report of a status by the provider. Reports arrive in any order.
    alter table templates add column status_reported_at timestamptz(3);
    create index templates_tenant_id_provider_template_id_idx on templates (tenant_id, provider_template_id);
    create index broadcasts_tenant_id_template_id_idx on broadcasts (tenant_id, template_id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    drop index broadcasts_tenant_id_template_id_idx, templates_tenant_id_provider_template_id_idx;
    alter table templates drop column status_reported_at;
  `)
}
