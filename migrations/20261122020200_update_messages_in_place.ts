import type { Knex } from 'knex'

/**
 * An index whose condition reads the status of a message makes each change of a status write to all indexes of the table.
 * The time of a scheduled message is in a column that no other message has, so that statuses are updated in place.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Time of a message while it is scheduled.
    alter table messages add column release_at timestamptz(3);
    update messages set release_at = send_at where status = 'scheduled';
    alter table messages add constraint messages_status_release_at_check
      check ((status = 'scheduled') = (release_at is not null)) not valid;
    alter table messages validate constraint messages_status_release_at_check;
    drop index messages_send_at_scheduled_idx;
    -- Finds messages whose time has come, across tenants.
    create index messages_release_at_not_null_idx on messages (release_at) where release_at is not null;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    drop index messages_release_at_not_null_idx;
    alter table messages drop constraint messages_status_release_at_check, drop column release_at;
    create index messages_send_at_scheduled_idx on messages (send_at) where status = 'scheduled';
  `)
}
