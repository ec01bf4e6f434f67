import type { Database } from '../../platform/database/database.ts'
import { createSqlTag } from '../../platform/database/sql.ts'
import {
  assertNamesTenant,
  joinFragments,
  sqlFragment,
  type SqlFragment,
} from '../../platform/database/statements/statement.ts'
import { forEachTenant } from '../../platform/jobs/for-each-tenant.ts'
import { PHONE_SPELLINGS } from '../../platform/phone.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { countByKeySql, type Counter, COUNTERS } from './count-sql.ts'

const BATCH = 10_000

type Source = Pick<Scope, 'sql' | 'tenantId'>

export function countDeltasSql(): SqlFragment {
  return sqlFragment`select tenant_id, counter from kept_count_deltas`
}

/**
 * Adds the recorded changes to the kept numbers, of all workspaces or of those in which a counter has changed, and records
 * the progress of broadcasts. A concurrent reader sees each change exactly once, in one table or the other.
 */
export async function rollUpCounts(system: SystemScope, changed: Counter | null = null): Promise<void> {
  const tenants = await system.acrossTenants<{ tenantId: string }>('findTenantsWithCountDeltas')`
    select distinct tenant_id from (${countDeltasSql()}) deltas where ${changed}::text is null or counter = ${changed}`
  await forEachTenant(tenants, { log: system.log, task: 'roll up counts' }, async (tenantId) => {
    for (let taken = BATCH; taken === BATCH;) taken = await system.forTenant(tenantId).transaction(rollUpBatch)
  })
}

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

/** Kept numbers that are compared with the rows of a workspace, at most. */
const COMPARED_MAX = 200_000

export type WrongCount = { counter: Counter; kept: number; counted: number }

/**
 * Lists kept numbers of a workspace that differ from its rows, at most 10. Returns null for a workspace with so many rows
 * that counting them takes long. Where no numbers are kept, none is wrong.
 */
export async function listWrongCounts(db: Database, tenantId: string): Promise<WrongCount[] | null> {
  const { sql } = toSource(db, tenantId)
  const [size] = await sql<{ rows: number }>('sumKeptCounts')`
    select coalesce(sum(count), 0)::float8 as rows from kept_counts where tenant_id = ${tenantId}`
  if ((size?.rows ?? 0) > COMPARED_MAX) return null
  const counted = COUNTERS.map(
    (counter) => sqlFragment`
      select ${counter}::text as counter, owner_id, key, 0 as kept, n as counted
      from (${countByKeySql(tenantId, counter)}) rows`,
  )
  return sql<WrongCount>('listWrongCounts')`
    with numbers as (
      select counter, owner_id, key, count as kept, 0 as counted from kept_counts where tenant_id = ${tenantId}
      union all select counter, owner_id, key, delta, 0 from kept_count_deltas where tenant_id = ${tenantId}
      union all ${joinFragments(counted, ' union all ')})
    select counter, sum(kept)::int as kept, sum(counted)::int as counted from numbers
    where counter in (select mark.counter from kept_counts mark where mark.tenant_id = ${tenantId} and mark.counted_at is not null)
    group by counter, owner_id, key having sum(kept) <> sum(counted) order by counter limit 10`
}

/** The last changes of a deleted workspace or broadcast are dropped. */
async function rollUpBatch(tx: Scope): Promise<number> {
  const { tenantId } = tx
  await lockCounts(tx)
  const [row] = await tx.sql<{ taken: number; hasZero: boolean; broadcastIds: string[] }>('rollUpCounts')`
    with taken as (
      delete from kept_count_deltas where tenant_id = ${tenantId} and seq in (
        select seq from kept_count_deltas where tenant_id = ${tenantId} order by seq limit ${BATCH})
      returning counter, owner_id, key, delta),
    added as (
      insert into kept_counts (tenant_id, counter, owner_id, key, count)
      select ${tenantId}::uuid, counter, owner_id, key, sum(delta) from taken
      where exists (select from workspaces where id = ${tenantId})
      group by counter, owner_id, key having sum(delta) <> 0
      on conflict (tenant_id, counter, owner_id, key) do update set count = kept_counts.count + excluded.count
      returning count)
    select count(*)::int as taken, exists (select from added where count = 0) as has_zero, array(
      select id from broadcasts
      where tenant_id = ${tenantId} and id in (select owner_id from taken where counter = 'recipients')) as broadcast_ids
    from taken`
  if (row?.hasZero)
    await tx.sql('dropZeroCounts')`
      delete from kept_counts where tenant_id = ${tenantId} and count = 0 and counted_at is null`
  const progress = (row?.broadcastIds ?? []).map((broadcastId) => ({
    type: 'broadcast.progress' as const,
    data: { broadcastId },
  }))
  await tx.record(...progress)
  return row?.taken ?? 0
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

/**
 * Makes the transaction the only one that rolls up or recounts the numbers of a workspace. Those that write rows do not wait
 * for it.
 */
async function lockCounts(tx: Pick<Scope, 'sql' | 'tenantId'>): Promise<void> {
  await tx.sql('lockCounts')`select pg_advisory_xact_lock(hashtextextended(${`counts ${tx.tenantId}`}, 0))`
}
