import type { Knex } from 'knex'

/** An index is created concurrently outside of a transaction. */
export const config = { transaction: false }

/** A key names a workflow in files beside the code of a program, so it is unique in a workspace. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table workflows add column if not exists key text')
  await knex.raw('set lock_timeout = 0')
  await knex.raw('drop index concurrently if exists workflows_tenant_id_key_key')
  await knex.raw('create unique index concurrently workflows_tenant_id_key_key on workflows (tenant_id, key)')
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('set lock_timeout = 0')
  await knex.raw('drop index concurrently if exists workflows_tenant_id_key_key')
  await knex.raw('alter table workflows drop column if exists key')
}
