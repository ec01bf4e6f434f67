import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip, type Gzip } from 'node:zlib'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { REFERENCE_TABLES, TENANT_TABLES } from '../database/statements/tables.ts'
import { END_OF_ROWS, OWN_TABLES, type Progress, TransferError } from './export-format.ts'

const ROUTE_TABLES = REFERENCE_TABLES.filter((name) => name.endsWith('_routes'))
const COUNTED_TABLES: readonly string[] = ['kept_counts', 'kept_count_deltas']

/** A table with its columns that are not computed, and a condition on its rows if not all are exported. */
export type Table = { name: string; columns: string[]; condition?: string }

/**
 * Writes all rows of the database as of one moment, compressed, with bounded memory. The database may be in use
 * meanwhile. Jobs are not exported, as workers create those for due work again. With `workspaceId` the rows are those of a
 * workspace and the accounts of its members.
 * @throws TransferError if there is no such workspace
 */
export async function exportDatabase(
  client: pg.Client,
  output: Writable,
  { onProgress, workspaceId }: { onProgress: Progress; workspaceId?: string },
): Promise<number> {
  await client.query('set statement_timeout = 0')
  await client.query('begin isolation level repeatable read read only')
  if (workspaceId !== undefined) await assertWorkspace(client, workspaceId)
  const tables = workspaceId === undefined ? await listTables(client) : await listWorkspaceTables(client, workspaceId)
  const migrations = await client.query<{ name: string }>('select name from migrations order by name')
  const gzip = createGzip()
  const written = pipeline(gzip, output)
  // Awaited below; a failure of the output also ends the copying.
  written.catch(() => undefined)
  await writeLine(gzip, { parleyExport: 1, migrations: migrations.rows.map(({ name }) => name), workspaceId })
  const rows: Record<string, number> = {}
  for (const table of tables) {
    await writeLine(gzip, { table: table.name, columns: table.columns })
    rows[table.name] = await writeRows(client, table, gzip)
    onProgress(table.name, rows[table.name] ?? 0)
  }
  await writeLine(gzip, { rows })
  gzip.end()
  await written
  await client.query('commit')
  return Object.values(rows).reduce((sum, count) => sum + count, 0)
}

/** The tables whose rows are exported, with their columns that are not computed. */
export async function listTables(client: pg.Client): Promise<Table[]> {
  const { rows } = await client.query<Table>(
    `select relname as name, array_agg(attname::text order by attnum) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and attnum > 0 and not attisdropped
       and attgenerated = '' and relname <> all($1)
     group by relname order by relname`,
    [OWN_TABLES],
  )
  return rows
}

/**
 * The tables with rows of a workspace, each after those that its foreign keys name. Invitations are left out, as their links
 * lead to this installation, and so are kept numbers, which are counted again.
 */
export async function listWorkspaceTables(client: pg.Client, workspaceId: string): Promise<Table[]> {
  const id = pg.escapeLiteral(workspaceId)
  const conditions: [string, string][] = [
    ['users', `id in (select user_id from memberships where workspace_id = ${id})`],
    ['workspaces', `id = ${id}`],
    ['memberships', `workspace_id = ${id}`],
    ...[...TENANT_TABLES, ...ROUTE_TABLES].map((name): [string, string] => [name, `tenant_id = ${id}`]),
  ]
  const tables = new Map((await listTables(client)).map((table) => [table.name, table]))
  return conditions.flatMap(([name, condition]) => {
    const table = tables.get(name)
    return table && !COUNTED_TABLES.includes(name) ? { ...table, condition } : []
  })
}

async function assertWorkspace(client: pg.Client, workspaceId: string): Promise<void> {
  const { rows } = await client.query('select from workspaces where id = $1 and deleted_at is null', [workspaceId])
  if (rows.length === 0) throw new TransferError(`There is no workspace with the ID ${workspaceId}`)
}

export function columnList({ name, columns }: Table): string {
  return `${pg.escapeIdentifier(name)} (${columnNames(columns)})`
}

export function columnNames(columns: string[]): string {
  return columns.map((column) => pg.escapeIdentifier(column)).join(', ')
}

async function writeRows(client: pg.Client, table: Table, gzip: Gzip): Promise<number> {
  const { name, columns, condition } = table
  const source = condition
    ? `(select ${columnNames(columns)} from ${pg.escapeIdentifier(name)} where ${condition})`
    : columnList(table)
  const rows = client.query(copyTo(`copy ${source} to stdout`))
  for await (const chunk of rows) await write(gzip, chunk)
  await write(gzip, END_OF_ROWS)
  return rows.rowCount
}

async function writeLine(gzip: Gzip, line: object): Promise<void> {
  await write(gzip, Buffer.from(`${JSON.stringify(line)}\n`))
}

async function write(gzip: Gzip, chunk: Buffer): Promise<void> {
  if (gzip.destroyed) throw new Error('The export could not be written')
  if (!gzip.write(chunk)) await once(gzip, 'drain')
}
