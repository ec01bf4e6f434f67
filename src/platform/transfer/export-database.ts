import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip, type Gzip } from 'node:zlib'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { END_OF_ROWS, OWN_TABLES, type Progress } from './export-format.ts'

export type Table = { name: string; columns: string[] }

/**
 * Writes all rows of the database as of one moment, compressed, with bounded memory. The database may be in use
 * meanwhile. Jobs are not exported, as workers create those for due work again.
 */
export async function exportDatabase(client: pg.Client, output: Writable, onProgress: Progress): Promise<number> {
  await client.query('set statement_timeout = 0')
  await client.query('begin isolation level repeatable read read only')
  const migrations = await client.query<{ name: string }>('select name from migrations order by name')
  const gzip = createGzip()
  const written = pipeline(gzip, output)
  // Awaited below; a failure of the output also ends the copying.
  written.catch(() => undefined)
  await writeLine(gzip, { parleyExport: 1, migrations: migrations.rows.map(({ name }) => name) })
  const rows: Record<string, number> = {}
  for (const table of await listTables(client)) {
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

export function columnList({ name, columns }: Table): string {
  return `${pg.escapeIdentifier(name)} (${columns.map((column) => pg.escapeIdentifier(column)).join(', ')})`
}

async function writeRows(client: pg.Client, table: Table, gzip: Gzip): Promise<number> {
  const rows = client.query(copyTo(`copy ${columnList(table)} to stdout`))
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
