import type { Database } from '../platform/database/database.ts'
import { createSqlTag, type SqlTag } from '../platform/database/sql.ts'
import {
  assertNamesTenant,
  assertNoTenantTable,
  type SqlFragment,
  sqlFragment,
  sqlText,
} from '../platform/database/statements/statement.ts'
import { NIL_ID } from '../platform/ids.ts'
import type { Secrets } from '../platform/security/secrets.ts'
import { type SealedColumn, SYSTEM_COLUMNS, TENANT_COLUMNS } from './sealed-columns.ts'

/** Rows of one statement. The body of a webhook has some kilobytes. */
const PORTION = 100
/** Rows may be changed while they are resealed, and processes that seal with an old key may add some. */
const PASSES_MAX = 10

export type TableCounts = { resealed: number; unreadable: number }
export type Resealed = { tables: Record<string, TableCounts>; isComplete: boolean }

/**
 * Seals with the first key what is sealed with another one. Parley may be running: a row that is changed meanwhile is read
 * again. Each portion is a statement, so an interrupted call is repeated.
 */
export async function resealAll(db: Database, secrets: Secrets): Promise<Resealed> {
  const columns = [...TENANT_COLUMNS, ...SYSTEM_COLUMNS]
  const tables = Object.fromEntries(columns.map(({ table }): [string, TableCounts] => [table, newCounts()]))
  for (let pass = 1; ; pass += 1) {
    const found = await resealOnce(db, secrets)
    for (const counts of Object.values(tables)) counts.unreadable = 0
    let stale = 0
    for (const { table, resealed, unreadable, changed } of found) {
      const counts = (tables[table] ??= newCounts())
      counts.resealed += resealed
      counts.unreadable += unreadable
      stale += resealed + changed
    }
    if (stale === 0 || pass === PASSES_MAX) {
      const isComplete = stale === 0 && Object.values(tables).every(({ unreadable }) => unreadable === 0)
      return { tables, isComplete }
    }
  }
}

function newCounts(): TableCounts {
  return { resealed: 0, unreadable: 0 }
}

type Found = TableCounts & { table: string; changed: number }

async function resealOnce(db: Database, secrets: Secrets): Promise<Found[]> {
  const found: Found[] = []
  const workspaces: { id: string }[] = await db('workspaces').select('id').orderBy('id')
  for (const { id: tenantId } of workspaces) {
    const sql = <Row>(name: string): SqlTag<Row> =>
      createSqlTag(db, name, (statement) => assertNamesTenant(statement, tenantId))
    const where = sqlFragment`t.tenant_id = ${tenantId}`
    for (const column of TENANT_COLUMNS) found.push(await resealColumn({ sql, where, tenantId, secrets }, column))
  }
  const sql = <Row>(name: string): SqlTag<Row> => createSqlTag(db, name, assertNoTenantTable)
  for (const column of SYSTEM_COLUMNS)
    found.push(await resealColumn({ sql, where: sqlFragment`true`, tenantId: NIL_ID, secrets }, column))
  return found
}

type Source = { sql: <Row>(name: string) => SqlTag<Row>; where: SqlFragment; tenantId: string; secrets: Secrets }

async function resealColumn({ sql, where, tenantId, secrets }: Source, sealedColumn: SealedColumn): Promise<Found> {
  const { table, column, id = 'id', toContext } = sealedColumn
  const found = { table, ...newCounts(), changed: 0 }
  const { header } = secrets
  let after: string = NIL_ID
  for (;;) {
    // An empty value stands for a secret that was erased.
    const rows = await sql<{ id: string; sealed: Buffer }>('listSealed')`
      select t.${sqlText(id)} as id, t.${sqlText(column)} as sealed from ${sqlText(table)} t
      where ${where} and t.${sqlText(id)} > ${after} and octet_length(t.${sqlText(column)}) > 0
        and substring(t.${sqlText(column)} from 1 for ${header.length}) <> ${header}
      order by t.${sqlText(id)} limit ${PORTION}`
    const opened = rows.flatMap((row) => {
      const resealed = reseal(secrets, row.sealed, toContext(tenantId, row.id))
      return resealed ? { ...row, resealed } : []
    })
    if (opened.length === 0 && rows.length < PORTION) return { ...found, unreadable: found.unreadable + rows.length }
    const updated = await sql('reseal')`
      update ${sqlText(table)} t set ${sqlText(column)} = x.resealed
      from unnest(${opened.map((row) => row.id)}::uuid[], ${opened.map((row) => row.sealed)}::bytea[],
        ${opened.map((row) => row.resealed)}::bytea[]) as x (id, sealed, resealed)
      where ${where} and t.${sqlText(id)} = x.id and t.${sqlText(column)} = x.sealed returning 1`
    found.resealed += updated.length
    found.changed += opened.length - updated.length
    found.unreadable += rows.length - opened.length
    after = rows.at(-1)?.id ?? after
    if (rows.length < PORTION) return found
  }
}

/** Returns undefined for what none of the keys opens. */
function reseal(secrets: Secrets, sealed: Buffer, context: string): Buffer | undefined {
  try {
    return secrets.seal(secrets.open(sealed, context), context)
  } catch {
    return undefined
  }
}
