import { FOREIGN_KEY_VIOLATION, sqlState } from '../../platform/database/database.ts'
import { joinFragments, sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import { TENANT_TABLES } from '../../platform/database/statements/tables.ts'
import { forEachTenant } from '../../platform/jobs/for-each-tenant.ts'
import { SECOND } from '../../platform/time.ts'
import { KNOWN_MAX } from '../../scope/deleted-workspaces.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { purgeTenantWrites, toStoreKey } from '../media/media-writes.ts'

/** No portion is started after this time; the next run goes on. A half of the time is left to other work. */
const RUN_MAX_MS = SECOND
/** Files that are deleted together. */
const FILES_MAX = 20

type Table = (typeof TENANT_TABLES)[number]

/** Deleting the rows of other tables adds to the counts, and what stores a file must have ended before its row is sought. */
const LAST: readonly Table[] = ['kept_count_deltas', 'kept_counts', 'media_writes']

/** All but the mark of the deletion, which stays until the workspace itself is deleted. */
const TABLES: readonly Table[] = TENANT_TABLES.filter((table) => table !== 'deleted_workspaces')

/** Each table precedes those that its foreign keys name. */
export const ORDER: readonly Table[] = [...TABLES.filter((table) => !LAST.includes(table)).reverse(), ...LAST]

/** Columns by which rows refer to others of their table. */
export const SELF_REFERENCES: Partial<Record<Table, readonly string[]>> = {
  runs: ['parent_run_id', 'replay_of'],
  messages: ['reply_to_id'],
}

/** Conditions that a row has a file in the store, under its ID. */
const FILE_CONDITIONS: Partial<Record<Table, string>> = { media: 'true', jobs: 'has_file' }

type Receipt = { place: number; counts: Record<string, number>; files: number }

/**
 * Deletes the rows and files of deleted workspaces, portion by portion and the workspaces in turn, and finishes their
 * receipts. A portion is a transaction that also counts it and moves the place, so that a process may end anywhere and any
 * other one goes on. Of concurrent runs one works on a workspace at a time.
 */
export async function purgeDeletedWorkspaces(system: SystemScope): Promise<void> {
  let tenantIds = await system.deletedWorkspaces.refresh(() => listUnfinished(system))
  const endsAtMs = performance.now() + RUN_MAX_MS
  const hasTime = () => performance.now() < endsAtMs
  while (tenantIds.length > 0 && hasTime()) {
    const unfinished: string[] = []
    const rows = tenantIds.map((tenantId) => ({ tenantId }))
    await forEachTenant(rows, { log: system.log, task: 'purge deleted workspaces' }, async (tenantId) => {
      if (hasTime() && (await purgeOrRestart(system, tenantId))) unfinished.push(tenantId)
    })
    tenantIds = unfinished
  }
}

/** In a random order, as a run may end before each one had its turn. */
async function listUnfinished(system: SystemScope): Promise<string[]> {
  const rows = await system.sql<{ id: string }>('listDeletedWorkspaces')`
    select workspace_id as id from workspace_deletions where finished_at is null order by random() limit ${KNOWN_MAX}`
  return rows.map(({ id }) => id)
}

/**
 * Deletes a portion. It fails if work that was in progress has added a row to an earlier table, which refers to one of the
 * portion, or if another version of Parley has another order of tables: the next run then
 * begins with the first table.
 */
async function purgeOrRestart(system: SystemScope, tenantId: string): Promise<boolean> {
  try {
    return await purgePortion(system, tenantId)
  } catch (error) {
    if (sqlState(error) !== FOREIGN_KEY_VIOLATION) throw error
    system.log.warn(
      { event: 'workspace_purge_restarted', err: error, tenantId },
      'the purge of a workspace starts again, as rows were added',
    )
    await system.sql('restartWorkspaceDeletion')`
      update workspace_deletions set place = 0 where workspace_id = ${tenantId} and finished_at is null`
    return false
  }
}

/** Returns true if there is more to do at once. */
async function purgePortion(system: SystemScope, tenantId: string): Promise<boolean> {
  const [receipt] = await system.sql<Receipt>('readPlace')`
    select place from workspace_deletions where workspace_id = ${tenantId} and finished_at is null`
  if (!receipt) return false
  const { place } = receipt
  const table = ORDER[place]
  if (table === undefined) return lockReceipt(system, { tenantId, place }, finish)
  const scope = system.forTenant(tenantId)
  if (table === 'media_writes' && !(await purgeTenantWrites(scope))) return false
  if (!FILE_CONDITIONS[table]) return lockReceipt(system, { tenantId, place }, deleteRows)
  const rows = await deleteFiles(scope, table)
  return lockReceipt(system, { tenantId, place }, (tx, locked) => deleteFileRows(tx, locked, { table, rows }))
}

/** Executes a portion under the lock of the receipt, unless another process is at it. */
function lockReceipt(
  system: SystemScope,
  { tenantId, place }: { tenantId: string; place: number },
  work: (tx: Scope, receipt: Receipt) => Promise<boolean>,
): Promise<boolean> {
  return system.transaction(async (tx) => {
    const [receipt] = await tx.sql<Receipt>('lockWorkspaceDeletion')`
      select place, counts, files from workspace_deletions
      where workspace_id = ${tenantId} and place = ${place} and finished_at is null for update skip locked`
    return receipt ? work(tx.forTenant(tenantId), receipt) : false
  })
}

async function saveReceipt(tx: Scope, { place, counts, files }: Receipt): Promise<boolean> {
  await tx.sql('saveWorkspaceDeletion')`
    update workspace_deletions set place = ${place}, counts = ${JSON.stringify(counts)}::jsonb, files = ${files},
      started_at = coalesce(started_at, ${tx.now()})
    where workspace_id = ${tx.tenantId}`
  return true
}

function add(counts: Receipt['counts'], table: Table, count: number): Receipt['counts'] {
  return count === 0 ? counts : { ...counts, [table]: (counts[table] ?? 0) + count }
}

/** Deletes a portion of rows, of several tables if they have few. */
async function deleteRows(tx: Scope, { place, counts, files }: Receipt): Promise<boolean> {
  let next = { place, counts, files }
  let limit = tx.portions.purge
  while (limit > 0) {
    const table = ORDER[next.place]
    const isOther = next.place > place && (table === 'media_writes' || table === undefined || FILE_CONDITIONS[table])
    if (table === undefined || isOther) break
    const count = await (SELF_REFERENCES[table] ? deleteReferred(tx, table, limit) : deleteAny(tx, table, limit))
    next = { ...next, counts: add(next.counts, table, count), place: count < limit ? next.place + 1 : next.place }
    limit -= count
  }
  return saveReceipt(tx, next)
}

async function deleteAny(tx: Scope, table: Table, limit: number): Promise<number> {
  const deleted = await tx.sql('deleteRowsOfWorkspace')`
    delete from ${sqlText(table)} t where t.tenant_id = ${tx.tenantId} and t.ctid = any(array(
      select o.ctid from ${sqlText(table)} o where o.tenant_id = ${tx.tenantId} limit ${limit}))
    returning 1`
  return deleted.length
}

/** Deletes the newest rows, and what refers to them from rows that are left, so that a portion of rows can be deleted. */
async function deleteReferred(tx: Scope, table: Table, limit: number): Promise<number> {
  const rows = await tx.sql<{ id: string }>('listRowsOfWorkspace')`
    select id from ${sqlText(table)} where tenant_id = ${tx.tenantId} order by id desc limit ${limit}`
  const ids = rows.map(({ id }) => id)
  for (const column of SELF_REFERENCES[table] ?? []) {
    await tx.sql('clearReferences')`
      update ${sqlText(table)} set ${sqlText(column)} = null
      where tenant_id = ${tx.tenantId} and ${sqlText(column)} = any(${ids}::uuid[]) and id <> all(${ids}::uuid[])`
  }
  return (await deleteByIds(tx, table, ids)).size
}

async function deleteByIds(tx: Scope, table: Table, ids: string[]): Promise<Set<string>> {
  const deleted = await tx.sql<{ id: string }>('deleteRowsByIds')`
    delete from ${sqlText(table)} where tenant_id = ${tx.tenantId} and id = any(${ids}::uuid[]) returning id`
  return new Set(deleted.map(({ id }) => id))
}

type FileRow = { id: string; hasFile: boolean }

/** Deletes the files before their rows, which name them: a process that ends in between leaves no file behind. */
async function deleteFiles(scope: Scope, table: Table): Promise<FileRow[]> {
  const rows = await scope.sql<FileRow>('listFilesOfWorkspace')`
    select id, ${sqlText(FILE_CONDITIONS[table] ?? 'false')} as has_file from ${sqlText(table)}
    where tenant_id = ${scope.tenantId} limit ${FILES_MAX}`
  const keys = rows.flatMap(({ id, hasFile }) => (hasFile ? toStoreKey(scope.tenantId, id) : []))
  await Promise.all(keys.map((key) => scope.files.delete(key)))
  return rows
}

async function deleteFileRows(
  tx: Scope,
  { place, counts, files }: Receipt,
  { table, rows }: { table: Table; rows: FileRow[] },
): Promise<boolean> {
  const ids = rows.map(({ id }) => id)
  // Another process may have listed the same rows, and deleted and counted them first.
  const deleted = await deleteByIds(tx, table, ids)
  return saveReceipt(tx, {
    place: rows.length < FILES_MAX ? place + 1 : place,
    counts: add(counts, table, deleted.size),
    files: files + rows.filter(({ id, hasFile }) => hasFile && deleted.has(id)).length,
  })
}

/**
 * Deletes the workspace itself, if none of its rows is left: work that was in progress may have added some, which are then
 * deleted in another round. It locks out what would refer to the workspace.
 */
async function finish(tx: Scope, receipt: Receipt): Promise<boolean> {
  const { tenantId } = tx
  await tx.sql('lockDeletedWorkspace')`select from workspaces where id = ${tenantId} for update`
  const exist = TABLES.map(
    (table) => sqlFragment`exists (select from ${sqlText(table)} t where t.tenant_id = ${tenantId})`,
  )
  const [left] = await tx.sql<{ hasRows: boolean }>('findRowsOfWorkspace')`
    select ${joinFragments(exist, ' or ')} as has_rows`
  if (left?.hasRows !== false) return saveReceipt(tx, { ...receipt, place: 0 })
  await tx.sql('deleteWakeupsOfWorkspace')`delete from wakeups where tenant_id = ${tenantId}`
  await tx.sql('deleteInvitations')`delete from invitations where workspace_id = ${tenantId}`
  // Takes its mark, the memberships and what is left of the routes with it.
  await tx.sql('deleteWorkspace')`delete from workspaces where id = ${tenantId}`
  await tx.sql('finishWorkspaceDeletion')`
    update workspace_deletions set finished_at = ${tx.now()}, started_at = coalesce(started_at, ${tx.now()})
    where workspace_id = ${tenantId}`
  const { counts: rows, files } = receipt
  tx.log.info({ event: 'workspace_purged', rows, files }, 'a deleted workspace was purged')
  return false
}
