import type { Database } from '../../platform/database/database.ts'
import { createSqlTag } from '../../platform/database/sql.ts'
import {
  assertNamesTenant,
  joinFragments,
  sqlFragment,
  type SqlFragment,
} from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import { countByKeySql, COUNTERS } from './counter.ts'
import { lockCounts } from './lock-counts.ts'
import { PHONE_SPELLINGS } from '../../platform/phone.ts'

type Source = Pick<Scope, 'sql' | 'tenantId'>

/** Recounts each workspace. Parley may be running. Returns the number of workspaces. */
export async function recountAll(db: Database): Promise<number> {
  const workspaces: { id: string }[] = await db('workspaces').select('id').orderBy('id')
  for (const { id } of workspaces) await recount(db, id)
  return workspaces.length
}

/**
 * Computes again what is kept about the rows of a workspace: its numbers and the keys of phone numbers. Others may write
 * meanwhile: the numbers are exact afterwards.
 */
export async function recount(db: Database, tenantId: string): Promise<void> {
  await fillPhoneKeys(toSource(db, tenantId))
  await db.transaction(async (tx) => {
    const source = toSource(tx, tenantId)
    await lockCounts(source)
    await source.sql('dropCounts')`delete from kept_counts where tenant_id = ${tenantId}`
    const [workspace] = await source.sql('lockWorkspace')`select 1 from workspaces where id = ${tenantId} for key share`
    if (workspace && (await hasTriggers(tx))) await recountRows(source)
  })
}

function toSource(db: Database, tenantId: string): Source {
  return { tenantId, sql: (name) => createSqlTag(db, name, (statement) => assertNamesTenant(statement, tenantId)) }
}

/** Returns true if numbers of rows are kept. A distributed database has no triggers. */
async function hasTriggers(db: Database): Promise<boolean> {
  const [found] = await createSqlTag(db, 'findCountTriggers')`
    select 1 from pg_trigger where tgrelid = 'contacts'::regclass and tgname = 'contacts_counted_insert'`
  return found !== undefined
}

/** One statement, as all numbers and the recorded changes have to be read as of the same time. */
async function recountRows({ sql, tenantId }: Source): Promise<void> {
  const counted = COUNTERS.map(
    (counter) =>
      sqlFragment`select ${counter}::text as counter, owner_id, key, n from (${countByKeySql(tenantId, counter)}) rows
        union all select ${counter}::text, ${tenantId}::uuid, '', 0`,
  )
  await sql('recountRows')`
    with deltas as (delete from kept_count_deltas where tenant_id = ${tenantId}),
    counted as (${joinFragments(counted, ' union all ')})
    insert into kept_counts (tenant_id, counter, owner_id, key, count, counted_at)
    select ${tenantId}::uuid, counter, owner_id, key, sum(n), case when owner_id = ${tenantId} then now() end
    from counted group by counter, owner_id, key`
}

/**
 * Fills the missing keys of phone numbers, as the trigger on contacts does; a distributed database has none. A key that
 * another contact has stays unused: of several contacts with one number, the oldest gets it.
 */
async function fillPhoneKeys({ sql, tenantId }: Pick<Scope, 'sql' | 'tenantId'>): Promise<void> {
  await sql('fillPhoneKeys')`
    update contacts set phone_key = keys.phone_key
    from (
      select distinct on (phone_key) id, phone_key
      from (
        select id, created_at, ${phoneKeySql(sqlFragment`phone`)} as phone_key
        from contacts where tenant_id = ${tenantId} and phone is not null and phone_key is null) numbers
      order by phone_key, created_at, id) keys
    where contacts.tenant_id = ${tenantId} and contacts.id = keys.id and not exists (
      select from contacts other where other.tenant_id = ${tenantId} and other.phone_key = keys.phone_key)`
}

function phoneKeySql(phone: SqlFragment): SqlFragment {
  return PHONE_SPELLINGS.reduce(
    (key, { pattern, replacement }) =>
      sqlFragment`regexp_replace(${key}, ${pattern.source}, ${replacement.replaceAll('$', '\\')})`,
    phone,
  )
}
