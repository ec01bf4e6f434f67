import type { Knex } from 'knex'

export const config = { transaction: false }

/**
 * Counts the rows from before the triggers, workspace by workspace: roll-ups of the previous version wait meanwhile. A
 * distributed database has no triggers, and its rows are counted when a number is read.
 */
export async function up(knex: Knex): Promise<void> {
  const { rows } = await knex.raw(
    `select from pg_trigger where tgrelid = 'contacts'::regclass and tgname = 'contacts_counted_insert'`,
  )
  if (rows.length === 0) return
  for (const { id } of await knex('workspaces').select<{ id: string }[]>('id')) {
    await knex.transaction(async (tx) => {
      await tx.raw('lock table counts in share row exclusive mode')
      await tx.raw(RECOUNT, { id })
    })
  }
}

const RECOUNT = `
  with deltas as (delete from count_deltas where tenant_id = :id),
  counted as (
    select 'contacts' as counter, id as owner_id, (select count(*) from contacts where tenant_id = :id) as n
    from workspaces where id = :id
    union all
    select 'conversations', id, (select count(*) from conversations where tenant_id = :id) from workspaces where id = :id
    union all select 'groups', id, (select count(*) from groups where tenant_id = :id) from workspaces where id = :id
    union all
    select 'broadcasts', id, (select count(*) from broadcasts where tenant_id = :id) from workspaces where id = :id
    union all
    select 'tag_contacts', id, (select count(*) from contact_tags where tenant_id = :id and tag_id = tags.id)
    from tags where tenant_id = :id
    union all
    select 'group_contacts', id, (select count(*) from group_contacts where tenant_id = :id and group_id = groups.id)
    from groups where tenant_id = :id)
  insert into counts (tenant_id, counter, owner_id, count, counted_at)
  select :id::uuid, counter, owner_id, n, now() from counted
  on conflict (tenant_id, counter, owner_id) do update set count = excluded.count, counted_at = excluded.counted_at`

export async function down(): Promise<void> {}
