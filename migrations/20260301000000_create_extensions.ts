import type { Knex } from 'knex'

/** A UUID of version 7, which begins with the time, for the rows of seeds and of other programs. */
export const NEW_ID = `encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) placing substring(int8send(
  floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid`

/** The times that a list can order and the API can return. Other programs may write others, such as `infinity`. */
export const IN_YEARS = `between '0001-01-01 00:00:00+00' and '9999-12-31 23:59:59.999+00'`

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create extension if not exists pg_trgm;
    create extension if not exists btree_gin;
    create extension if not exists unaccent;

    -- Text without case and accents, for searching and sorting. unaccent() is only stable because its dictionary may be
    -- changed; the dictionary that PostgreSQL ships stays as it is.
    create function search_text(value text) returns text language sql immutable strict parallel safe
      as $$ select lower(public.unaccent('public.unaccent'::regdictionary, value)) $$;
  `)
}

/** Extensions stay: other programs may use them. */
export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop function search_text')
}
