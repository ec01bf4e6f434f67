import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  // One statement at a time: Citus sends the text to the nodes as it is.
  await knex.schema.raw(`set local citus.multi_shard_modify_mode = 'sequential'`)
  await knex.schema.raw(`
    -- Numbers with punctuation lose it. What is no number, or that of another contact then, becomes the field "phone".
    -- Citus takes immutable functions only: jsonb_object is one.
    update contacts c
    set phone = case when n.is_free then n.number end, phone_key = null,
      fields = case when n.is_free then c.fields else jsonb_object(array['phone', c.phone::text]) || c.fields end
    from (
      select i.tenant_id, i.id, i.number, i.place = 1 and i.number ~ '^\\+[1-9]\\d{6,14}$' and o.id is null as is_free
      from (
        select tenant_id, id, number, row_number() over (partition by tenant_id, number order by created_at, id) as place
        from (
          select tenant_id, id, created_at, regexp_replace(phone, '[\\s().-]', '', 'g') as number
          from contacts where phone !~ '^\\+[1-9]\\d{6,14}$') invalid) i
      left join contacts o on o.tenant_id = i.tenant_id and o.phone = i.number) n
    where c.tenant_id = n.tenant_id and c.id = n.id
  `)
  await knex.schema.raw(
    `alter table contacts add constraint contacts_phone_check check (phone ~ '^\\+[1-9]\\d{6,14}$') not valid`,
  )
  if (await isDistributed(knex)) return
  await knex.schema.raw(`
    -- The same for all spellings of one person's number.
    create function to_phone_key(phone text) returns text language sql immutable strict parallel safe as $$
      select regexp_replace(regexp_replace(regexp_replace(phone,
        '^\\+55(\\d\\d)([016-9]\\d{7})$', '+55\\19\\2'),
        '^\\+521(\\d{10})$', '+52\\1'),
        '^\\+549(\\d{10})$', '+54\\1')
    $$;
    create function fill_phone_key() returns trigger language plpgsql as $$
    begin
      new.phone_key := public.to_phone_key(new.phone);
      return new;
    end $$;
    create trigger contacts_phone_key_insert before insert on contacts for each row
      when (new.phone is not null and new.phone_key is null) execute function fill_phone_key();
    create trigger contacts_phone_key_update before update of phone on contacts for each row
      when (new.phone is distinct from old.phone and new.phone_key is not distinct from old.phone_key)
      execute function fill_phone_key();
  `)
}

/** Distributed tables have no triggers. */
async function isDistributed(knex: Knex): Promise<boolean> {
  const { rows: extensions } = await knex.raw(`select from pg_extension where extname = 'citus'`)
  if (extensions.length === 0) return false
  const { rows } = await knex.raw(`select from citus_tables where table_name = 'contacts'::regclass`)
  return rows.length > 0
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    drop trigger if exists contacts_phone_key_insert on contacts;
    drop trigger if exists contacts_phone_key_update on contacts;
    drop function if exists fill_phone_key(), to_phone_key(text);
    alter table contacts drop constraint contacts_phone_check;
  `)
}
