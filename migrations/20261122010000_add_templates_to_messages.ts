import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Category of the template a message was made from. Null for any other message, which is sent inside the service
    -- window only.
    alter table messages
      add column category text check (category in ('marketing', 'utility', 'authentication')),
      add column recipient_id uuid;
    -- Finds the messages of a recipient of a broadcast. There is no foreign key: recipients are deleted with their
    -- broadcast, and messages stay.
    create index messages_tenant_id_recipient_id_not_null_idx on messages (tenant_id, recipient_id)
      where recipient_id is not null;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('alter table messages drop column category, drop column recipient_id')
}
