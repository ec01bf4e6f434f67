import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    alter table runs add column mailbox_run_id uuid;
    with recursive above as (
      select tenant_id, id, id as top from runs where parent_run_id is null and contact_id is null and conversation_id is null
      union all
      select r.tenant_id, r.id, above.top from runs r
      join above on above.tenant_id = r.tenant_id and above.id = r.parent_run_id)
    update runs r set mailbox_run_id = above.top from above
      where r.tenant_id = above.tenant_id and r.id = above.id and r.id <> above.top;
    update run_waits w set mailbox_id = r.mailbox_run_id from runs r
      where r.tenant_id = w.tenant_id and r.id = w.run_id and r.mailbox_run_id is not null;
    update inbox i set mailbox_id = r.mailbox_run_id from runs r
      where r.tenant_id = i.tenant_id and r.id = i.mailbox_id and i.mailbox_kind = 'run' and r.mailbox_run_id is not null;
    drop index runs_open;
    create index runs_open on runs (tenant_id, (coalesce(conversation_id, contact_id, mailbox_run_id, id)))
      where status in ('queued', 'running', 'waiting');
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    drop index runs_open;
    update run_waits set mailbox_id = run_id where mailbox_kind = 'run';
    update inbox set mailbox_id = (payload ->> 'runId')::uuid where mailbox_kind = 'run' and jsonb_exists(payload, 'runId');
    alter table runs drop column mailbox_run_id;
    create index runs_open on runs (tenant_id, (coalesce(conversation_id, contact_id, id)))
      where status in ('queued', 'running', 'waiting');
  `)
}
