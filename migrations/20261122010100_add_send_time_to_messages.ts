import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    alter table messages
      add column send_at timestamptz(3),
      drop constraint messages_status_check,
      add constraint messages_status_check check (status in ('received', 'scheduled', 'queued', 'sending', 'sent',
        'delivered', 'read', 'played', 'failed', 'canceled')) not valid;
    alter table messages validate constraint messages_status_check;
    -- Finds messages whose time has come, across tenants.
    create index messages_send_at_scheduled_idx on messages (send_at) where status = 'scheduled';
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    update messages set status = 'canceled' where status = 'scheduled';
    drop index messages_send_at_scheduled_idx;
    alter table messages
      drop column send_at,
      drop constraint messages_status_check,
      add constraint messages_status_check check (status in ('received', 'queued', 'sending', 'sent', 'delivered',
        'read', 'played', 'failed', 'canceled'));
  `)
}
