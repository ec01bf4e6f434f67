import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create extension if not exists pg_trgm;
    create extension if not exists btree_gin;
    create extension if not exists unaccent;

    -- Text without case and accents, for searching and sorting. unaccent() is only stable because its dictionary may be
    -- changed; the dictionary that PostgreSQL ships stays as it is.
    create function search_text(value text) returns text language sql immutable strict parallel safe
      as $$ select lower(public.unaccent('public.unaccent'::regdictionary, value)) $$;

    create index contacts_tenant_id_name_trigrams_idx on contacts
      using gin (tenant_id, search_text(name) gin_trgm_ops);
    create index contacts_tenant_id_id_name_idx on contacts (tenant_id, search_text(name), id);
    create index contacts_tenant_id_phone_idx on contacts (tenant_id, phone text_pattern_ops);
    create index contacts_tenant_id_email_prefix_idx on contacts (tenant_id, lower(email) text_pattern_ops)
      where email is not null;
    create index contacts_tenant_id_external_id_prefix_idx on contacts (tenant_id, external_id text_pattern_ops)
      where external_id is not null;

    -- The list is ordered by the newest message, and conversations without messages come last.
    drop index conversations_tenant_id_last_message_at_id_idx;
    create index conversations_tenant_id_id_last_message_idx
      on conversations (tenant_id, coalesce(last_message_at, '-infinity'), id);
    create index conversations_tenant_id_status_id_last_message_idx
      on conversations (tenant_id, status, coalesce(last_message_at, '-infinity'), id);
    create index conversations_tenant_id_id_unread_idx
      on conversations (tenant_id, coalesce(last_message_at, '-infinity'), id) where unread_count > 0;

    create index runs_tenant_id_waiting_for_created_at_id_waiting_idx
      on runs (tenant_id, waiting_for, created_at desc, id desc) where status = 'waiting';
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    drop index runs_tenant_id_waiting_for_created_at_id_waiting_idx,
      conversations_tenant_id_id_unread_idx, conversations_tenant_id_status_id_last_message_idx,
      conversations_tenant_id_id_last_message_idx, contacts_tenant_id_external_id_prefix_idx,
      contacts_tenant_id_email_prefix_idx, contacts_tenant_id_phone_idx,
      contacts_tenant_id_id_name_idx, contacts_tenant_id_name_trigrams_idx;
    drop function search_text;
    create index conversations_tenant_id_last_message_at_id_idx
      on conversations (tenant_id, last_message_at desc nulls last, id desc);
  `)
}
