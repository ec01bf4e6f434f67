import type { Knex } from 'knex'

/** Each change of the status of a recipient writes to all indexes of the table, so there are as few as possible. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Finds the recipients of a contact, too.
    create unique index broadcast_recipients_tenant_id_contact_id_broadcast_id_key
      on broadcast_recipients (tenant_id, contact_id, broadcast_id);
    alter table broadcast_recipients drop constraint broadcast_recipients_tenant_id_broadcast_id_contact_id_key;
    drop index broadcast_recipients_tenant_id_contact_id_idx;
    -- Lists and hashes the recipients of a broadcast in the order of their IDs.
    create index broadcast_recipients_tenant_id_broadcast_id_id_idx on broadcast_recipients (tenant_id, broadcast_id, id);
    drop index broadcast_recipients_tenant_id_broadcast_id_created_at_id_idx;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create index broadcast_recipients_tenant_id_broadcast_id_created_at_id_idx
      on broadcast_recipients (tenant_id, broadcast_id, created_at desc, id desc);
    drop index broadcast_recipients_tenant_id_broadcast_id_id_idx;
    create index broadcast_recipients_tenant_id_contact_id_idx on broadcast_recipients (tenant_id, contact_id);
    alter table broadcast_recipients add constraint broadcast_recipients_tenant_id_broadcast_id_contact_id_key
      unique (tenant_id, broadcast_id, contact_id);
    drop index broadcast_recipients_tenant_id_contact_id_broadcast_id_key;
  `)
}
