import type { Knex } from 'knex'

export const config = { transaction: false }

/** Workspace by workspace, as the rows are locked until the transaction ends. A key that an older contact has stays unused. */
export async function up(knex: Knex): Promise<void> {
  for (const { id } of await knex('workspaces').select<{ id: string }[]>('id')) {
    await knex.raw(
      `update contacts c set phone_key = keys.phone_key
       from (
         select distinct on (phone_key) id, phone_key
         from (
           select id, created_at, regexp_replace(regexp_replace(regexp_replace(phone,
             '^\\+55(\\d\\d)([016-9]\\d{7})$', '+55\\19\\2'),
             '^\\+521(\\d{10})$', '+52\\1'),
             '^\\+549(\\d{10})$', '+54\\1') as phone_key
           from contacts where tenant_id = :id and phone is not null and phone_key is null) numbers
         order by phone_key, created_at, id) keys
       where c.tenant_id = :id and c.id = keys.id
         and not exists (select from contacts o where o.tenant_id = :id and o.phone_key = keys.phone_key)`,
      { id },
    )
  }
}

export async function down(): Promise<void> {}
