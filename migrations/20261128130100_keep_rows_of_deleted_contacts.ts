import type { Knex } from 'knex'

const REFERENCES = [
  ['messages', 'contact_id', 'contacts'],
  ['messages', 'conversation_id', 'conversations'],
  ['runs', 'contact_id', 'contacts'],
  ['runs', 'conversation_id', 'conversations'],
  ['event_payloads', 'contact_id', 'contacts'],
] as const

/** Each statement waits for its locks alone, and none keeps those of another one. */
export const config = { transaction: false }

/**
 * Lets the rows of which a contact may have a great many outlive it until it is purged. Transactions that insert such rows
 * lock the conversation or the contact, and find that it is gone. A trigger has them purged also if a program deletes the
 * contact with a statement of its own. Distributed tables have no triggers.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create or replace function purge_contacts() returns trigger language plpgsql as $$
    begin
      insert into public.contact_purges (tenant_id, contact_id, counts, deleted_at)
        select d.tenant_id, d.id, '{}', now() from deleted d
        where exists (select from public.workspaces w where w.id = d.tenant_id)
          and (exists (select from public.messages m where m.tenant_id = d.tenant_id and m.contact_id = d.id)
            or exists (select from public.runs r where r.tenant_id = d.tenant_id and r.contact_id = d.id)
            or exists (select from public.event_payloads p where p.tenant_id = d.tenant_id and p.contact_id = d.id))
        on conflict do nothing;
      return null;
    end $$;
    do $$ declare is_distributed boolean := false;
    begin
      if to_regclass('citus_tables') is not null then
        select exists (select from citus_tables where table_name = 'contacts'::regclass) into is_distributed;
      end if;
      if not is_distributed then
        create or replace trigger contacts_purged after delete on contacts referencing old table as deleted
          for each statement execute function purge_contacts();
      end if;
    end $$`)
  for (const [table, column] of REFERENCES) {
    await knex.schema.raw(`alter table ${table} drop constraint if exists ${table}_tenant_id_${column}_fkey`)
  }
}

/** Leaves the rows of contacts that are not purged yet. Nobody deletes them then. */
export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop function if exists purge_contacts() cascade')
  for (const [table, column, referenced] of REFERENCES) {
    const name = `${table}_tenant_id_${column}_fkey`
    await knex.schema.raw(`
      alter table ${table} drop constraint if exists ${name}, add constraint ${name}
        foreign key (tenant_id, ${column}) references ${referenced} (tenant_id, id) on delete cascade not valid`)
  }
}
