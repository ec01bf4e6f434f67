import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Mailbox items that could not be processed, until a person retries or discards them. They are apart from
    -- mailbox_items, whose rows are all due sooner or later.
    create table dead_letters (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      mailbox_kind text not null check (mailbox_kind in ('conversation', 'contact', 'run')),
      mailbox_id uuid not null,
      kind text not null,
      payload jsonb not null,
      contact_id uuid,
      conversation_id uuid,
      run_id uuid,
      workflow_id uuid,
      error jsonb not null,
      attempts integer not null,
      created_at timestamptz(3) not null,
      failed_at timestamptz(3) not null,
      primary key (tenant_id, id),
      foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade,
      foreign key (tenant_id, conversation_id) references conversations (tenant_id, id) on delete cascade
    );
    -- One index for each filter of the list, in its order, so that pages and totals read matching rows only.
    create index dead_letters_tenant_id_failed_at_id_idx on dead_letters (tenant_id, failed_at desc, id desc);
    create index dead_letters_tenant_id_contact_id_failed_at_id_idx
      on dead_letters (tenant_id, contact_id, failed_at desc, id desc);
    create index dead_letters_tenant_id_conversation_id_failed_at_id_idx
      on dead_letters (tenant_id, conversation_id, failed_at desc, id desc);
    create index dead_letters_tenant_id_kind_failed_at_id_idx on dead_letters (tenant_id, kind, failed_at desc, id desc);

    with dead as (delete from mailbox_items where due_at = 'infinity' returning *)
    insert into dead_letters (tenant_id, id, mailbox_kind, mailbox_id, kind, payload, contact_id, conversation_id, error,
      attempts, created_at, failed_at)
    select d.tenant_id, d.id, d.mailbox_kind, d.mailbox_id, d.kind, d.payload, coalesce(cv.contact_id, c.id), cv.id,
      '{"name":"Error","code":"unknown","message":"The reason was not recorded. The log has it."}'::jsonb,
      d.attempts, d.created_at, now()
    from dead d
    left join conversations cv
      on cv.tenant_id = d.tenant_id and cv.id = d.mailbox_id and d.mailbox_kind = 'conversation'
    left join contacts c on c.tenant_id = d.tenant_id and c.id = d.mailbox_id and d.mailbox_kind = 'contact';
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    insert into mailbox_items (tenant_id, mailbox_kind, mailbox_id, id, kind, payload, attempts, due_at, created_at)
    select tenant_id, mailbox_kind, mailbox_id, id, kind, payload, attempts, 'infinity', created_at from dead_letters;
    drop table dead_letters;
  `)
}
