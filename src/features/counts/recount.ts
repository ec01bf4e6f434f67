import type { Database } from '../../platform/database/database.ts'
import { createSqlTag } from '../../platform/database/sql.ts'
import { assertNamesTenant, sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope.ts'
import { type Counter, countRowsSql } from './counter.ts'
import { fillPhoneKeys } from './fill-phone-keys.ts'
import { lockCounts } from './lock-counts.ts'

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
    if (await hasTriggers(tx)) await recountRows(source)
    else await dropCounts(source)
    await recountRuns(source)
    await recountRecipients(source)
  })
}

function toSource(db: Database, tenantId: string): Source {
  return { tenantId, sql: (name) => createSqlTag(db, name, (statement) => assertNamesTenant(statement, tenantId)) }
}

/** Returns true if the numbers of rows are kept. A distributed database has no triggers. */
async function hasTriggers(db: Database): Promise<boolean> {
  const [found] = await createSqlTag(db, 'findCountTriggers')`
    select 1 from pg_trigger where tgrelid = 'contacts'::regclass and tgname = 'contacts_counted_insert'`
  return found !== undefined
}

const TOTALS = ['contacts', 'conversations', 'groups', 'broadcasts'] as const satisfies Counter[]

/** One statement, as all numbers and the recorded changes have to be read as of the same time. */
async function recountRows({ sql, tenantId }: Source): Promise<void> {
  const totals = TOTALS.map(
    (counter) =>
      sqlFragment`select ${counter}::text as counter, ${tenantId}::uuid as owner_id, ${countRowsSql(tenantId, counter, tenantId)} as n`,
  )
  const members = [
    sqlFragment`select 'tag_contacts', tags.id, ${countRowsSql(tenantId, 'tag_contacts', sqlFragment`tags.id`)}
      from tags where tags.tenant_id = ${tenantId}`,
    sqlFragment`select 'group_contacts', groups.id, ${countRowsSql(tenantId, 'group_contacts', sqlFragment`groups.id`)}
      from groups where groups.tenant_id = ${tenantId}`,
  ]
  const [first, ...others] = [...totals, ...members]
  const counted = others.reduce<SqlFragment>((all, one) => sqlFragment`${all} union all ${one}`, first ?? sqlFragment``)
  await sql('recountRows')`
    with deltas as (delete from count_deltas where tenant_id = ${tenantId}),
    counted as (${counted})
    insert into counts (tenant_id, counter, owner_id, count, counted_at)
    select ${tenantId}::uuid, counter, owner_id, n, now() from counted
    on conflict (tenant_id, counter, owner_id) do update set count = excluded.count, counted_at = excluded.counted_at`
  await sql('dropOldCounts')`
    delete from counts where counts.tenant_id = ${tenantId} and (
      (counter = 'tag_contacts' and owner_id not in (select id from tags where tags.tenant_id = ${tenantId}))
      or (counter = 'group_contacts' and owner_id not in (select id from groups where groups.tenant_id = ${tenantId})))`
}

async function dropCounts({ sql, tenantId }: Source): Promise<void> {
  await sql('dropCountDeltas')`delete from count_deltas where tenant_id = ${tenantId}`
  await sql('dropCounts')`delete from counts where tenant_id = ${tenantId}`
}

async function recountRuns({ sql, tenantId }: Source): Promise<void> {
  await sql('recountRuns')`
    with deltas as (delete from run_count_deltas where tenant_id = ${tenantId}),
    counted as (
      select workflow_id, workflow_version as version, status, count(*) as n from runs where tenant_id = ${tenantId}
      group by workflow_id, workflow_version, status
      union all select workflow_id, version, status, 0 from run_counts where tenant_id = ${tenantId})
    insert into run_counts (tenant_id, workflow_id, version, status, count)
    select ${tenantId}::uuid, workflow_id, version, status, sum(n) from counted
    group by workflow_id, version, status order by workflow_id, version, status
    on conflict (tenant_id, workflow_id, version, status) do update set count = excluded.count`
}

async function recountRecipients({ sql, tenantId }: Source): Promise<void> {
  await sql('recountRecipients')`
    with deltas as (delete from broadcast_count_deltas where tenant_id = ${tenantId})
    update broadcasts set counts = (
      select coalesce(jsonb_object_agg(status, n), '{}') || jsonb_build_object('total', coalesce(sum(n), 0),
        'accepted', coalesce(sum(accepted), 0), 'replied', coalesce(sum(replied), 0), 'optedOut', coalesce(sum(opted_out), 0))
      from (
        select status, count(*) as n, count(*) filter (where accepted_count > 0) as accepted,
          count(replied_at) as replied, count(opted_out_at) as opted_out
        from broadcast_recipients r where r.tenant_id = ${tenantId} and r.broadcast_id = broadcasts.id
        group by status) counted)
    where broadcasts.tenant_id = ${tenantId}`
}
