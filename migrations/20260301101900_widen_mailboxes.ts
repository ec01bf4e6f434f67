import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    alter table runs add column depth integer not null default 0, add column parent_run_id uuid,
      drop constraint runs_waiting_for_check,
      add check (waiting_for in ('reply', 'timer', 'event', 'result')),
      add foreign key (tenant_id, parent_run_id) references runs (tenant_id, id) on delete set null (parent_run_id);
    create index runs_parent on runs (tenant_id, parent_run_id) where parent_run_id is not null;
    -- What is advanced as one: a conversation, a contact that has none, or a run that has neither.
    create index runs_open on runs (tenant_id, (coalesce(conversation_id, contact_id, id)))
      where status in ('queued', 'running', 'waiting');
    update runs set state = jsonb_build_object('frames', '[]'::jsonb, 'sensitive', '[]'::jsonb, 'depth', 0,
      'parent', null, 'debouncing', null) || state;
    update workflow_versions set compiled = jsonb_set(compiled, '{steps}', (
      select coalesce(jsonb_agg('{"loops": [], "body": null}'::jsonb || step order by place), '[]')
      from jsonb_array_elements(compiled -> 'steps') with ordinality as steps (step, place)));

    -- A mailbox may outlive what it belongs to: its items are then taken, and nothing happens.
    alter table inbox drop constraint inbox_pkey, drop constraint inbox_tenant_id_conversation_id_fkey;
    alter table inbox rename conversation_id to mailbox_id;
    alter table inbox add column mailbox_kind text not null default 'conversation'
        check (mailbox_kind in ('conversation', 'contact', 'run')),
      add primary key (tenant_id, mailbox_id, id),
      add foreign key (tenant_id) references workspaces on delete cascade;
    alter table inbox alter column mailbox_kind drop default;

    alter table run_waits drop constraint run_waits_pkey, drop constraint run_waits_tenant_id_conversation_id_fkey,
      drop constraint run_waits_waiting_for_check,
      add check (waiting_for in ('reply', 'timer', 'event', 'result')),
      add primary key (tenant_id, run_id);
    drop index run_waits_run;
    alter table run_waits rename conversation_id to mailbox_id;
    alter table run_waits add column mailbox_kind text not null default 'conversation'
      check (mailbox_kind in ('conversation', 'contact', 'run'));
    alter table run_waits alter column mailbox_kind drop default;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    delete from run_waits where mailbox_kind <> 'conversation' or waiting_for = 'result';
    alter table run_waits drop column mailbox_kind;
    alter table run_waits rename mailbox_id to conversation_id;
    alter table run_waits drop constraint run_waits_pkey, drop constraint run_waits_waiting_for_check,
      add check (waiting_for in ('reply', 'timer', 'event')),
      add primary key (tenant_id, conversation_id, run_id),
      add foreign key (tenant_id, conversation_id) references conversations (tenant_id, id) on delete cascade;
    create index run_waits_run on run_waits (tenant_id, run_id);

    delete from inbox i where mailbox_kind <> 'conversation' or not exists (
      select from conversations c where c.tenant_id = i.tenant_id and c.id = i.mailbox_id);
    alter table inbox drop constraint inbox_pkey, drop constraint inbox_tenant_id_fkey, drop column mailbox_kind;
    alter table inbox rename mailbox_id to conversation_id;
    alter table inbox add primary key (tenant_id, conversation_id, id),
      add foreign key (tenant_id, conversation_id) references conversations (tenant_id, id) on delete cascade;

    drop index runs_open, runs_parent;
    update runs set waiting_for = null where waiting_for = 'result';
    alter table runs drop constraint runs_waiting_for_check, drop column depth, drop column parent_run_id,
      add check (waiting_for in ('reply', 'timer', 'event'));
  `)
}
