import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- The same for all spellings of one person's number. Null if the contact has no phone number, or if an older contact
    -- of the workspace already had the same key when this column was added: such a contact is still found by its number.
    alter table contacts add column phone_key text;

    update contacts c set phone_key = keys.phone_key
    from (
      select distinct on (tenant_id, phone_key) tenant_id, id, phone_key
      from (
        select tenant_id, id, created_at, regexp_replace(regexp_replace(regexp_replace(phone,
          '^\\+55(\\d\\d)([016-9]\\d{7})$', '+55\\19\\2'),
          '^\\+521(\\d{10})$', '+52\\1'),
          '^\\+549(\\d{10})$', '+54\\1') as phone_key
        from contacts where phone is not null) numbers
      order by tenant_id, phone_key, created_at, id) keys
    where c.tenant_id = keys.tenant_id and c.id = keys.id;

    create unique index contacts_tenant_id_phone_key_key on contacts (tenant_id, phone_key);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('alter table contacts drop column phone_key')
}
