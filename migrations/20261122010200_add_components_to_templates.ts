import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    alter table templates
      drop constraint templates_status_check,
      add column components jsonb,
      -- How the texts name their variables. Null if they have none.
      add column parameter_format text check (parameter_format in ('named', 'positional')),
      add column quality text check (quality in ('green', 'yellow', 'red')),
      add column rejection_reason text,
      add column provider_template_id text,
      -- Category that the provider chose or announced, if it is another one.
      add column suggested_category text check (suggested_category in ('marketing', 'utility', 'authentication')),
      add column submitted_at timestamptz(3),
      add column last_synced_at timestamptz(3);
    alter table templates add constraint templates_status_check check (status in
      ('draft', 'pending', 'approved', 'rejected', 'paused', 'disabled', 'in_appeal', 'archived', 'deleted'));
    update templates set
      components = jsonb_build_array(jsonb_build_object('type', 'BODY', 'text', body)),
      parameter_format = case when body ~ '\\{\\{[0-9]+\\}\\}' then 'positional'
        when body ~ '\\{\\{[a-z]' then 'named' end;
    alter table templates alter column components set not null;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    update templates set status = 'disabled' where status in ('in_appeal', 'archived', 'deleted');
    alter table templates
      drop constraint templates_status_check,
      drop column components,
      drop column parameter_format,
      drop column quality,
      drop column rejection_reason,
      drop column provider_template_id,
      drop column suggested_category,
      drop column submitted_at,
      drop column last_synced_at;
    alter table templates add constraint templates_status_check
      check (status in ('draft', 'pending', 'approved', 'rejected', 'paused', 'disabled'));
  `)
}
