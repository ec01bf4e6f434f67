import type { Knex } from 'knex'

/** A UUID of version 7, which begins with the time. */
const NEW_ID = `encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) placing substring(int8send(
  floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid`

/** Tables that seeds and scripts insert into. */
const WITH_ID = [
  'workspaces',
  'contacts',
  'tags',
  'groups',
  'channels',
  'conversations',
  'workflows',
  'templates',
  'broadcasts',
  'messages',
]
const MEMBERSHIPS = ['contact_tags', 'group_contacts']

export async function up(knex: Knex): Promise<void> {
  for (const table of WITH_ID) {
    await knex.schema.raw(
      `alter table ${table} alter column id set default ${NEW_ID},
         alter column created_at set default now(), alter column updated_at set default now()`,
    )
  }
  for (const table of MEMBERSHIPS)
    await knex.schema.raw(`alter table ${table} alter column created_at set default now()`)
  await knex.schema.raw(`alter table contacts alter column source set default 'import'`)
  await knex.schema.raw(`alter table tags alter column color set default '#64748B'`)
}

export async function down(knex: Knex): Promise<void> {
  for (const table of WITH_ID) {
    await knex.schema.raw(
      `alter table ${table} alter column id drop default,
         alter column created_at drop default, alter column updated_at drop default`,
    )
  }
  for (const table of MEMBERSHIPS) await knex.schema.raw(`alter table ${table} alter column created_at drop default`)
  await knex.schema.raw(`
    alter table contacts alter column source drop default;
    alter table tags alter column color drop default;
  `)
}
