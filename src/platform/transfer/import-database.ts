import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { columnList, listTables, listWorkspaceTables, type Table } from './export-database.ts'
import { ExportReader, Footer, Header, type Progress, TableLine, TransferError } from './export-format.ts'
import { type ImportedWorkspace, importWorkspace, type Stage } from './import-workspace.ts'

export type Imported = { rows: number; workspace?: ImportedWorkspace }

/**
 * Reads an export into a migrated database, in one transaction: after a failure the database is as before. The database must
 * have no rows, unless the export is that of a workspace, which it may have beside others.
 * @throws TransferError
 */
export async function importDatabase(client: pg.Client, input: Readable, onProgress: Progress): Promise<Imported> {
  await client.query('set statement_timeout = 0')
  await client.query('begin')
  const unzipped = createGunzip()
  // The reader gets the error of either, and of the input when it cannot be read.
  void pipeline(input, unzipped).catch(() => undefined)
  const reader = new ExportReader(unzipped)
  const { migrations, workspaceId } = parse(Header, await reader.readLine())
  assertSameMigrations(migrations, await listMigrations(client))
  const imported =
    workspaceId === undefined
      ? { rows: await importAll(client, reader, { tables: await listTables(client), onProgress }) }
      : await importWorkspace(client, workspaceId, async (stage) =>
          readTables(client, reader, { tables: await listWorkspaceTables(client, workspaceId), onProgress, stage }),
        )
  await client.query('commit')
  await client.query('analyze')
  return imported
}

type Target = { tables: Table[]; onProgress: Progress; stage?: Stage }

async function importAll(client: pg.Client, reader: ExportReader, target: Target): Promise<number> {
  await assertEmpty(client, target.tables)
  // They are created again below, which checks all rows: tables need no order, and each row is checked once.
  const foreignKeys = await dropForeignKeys(client)
  // What they keep is part of the export.
  const triggers = await listTriggers(client)
  for (const { table, name } of triggers) await client.query(`alter table ${table} disable trigger ${name}`)
  const rows = await readTables(client, reader, target)
  for (const { table, name } of triggers) await client.query(`alter table ${table} enable trigger ${name}`)
  for (const statement of foreignKeys) await client.query(statement)
  await continueSequences(client)
  return rows
}

/** With a `stage`, rows are read into tables of its own, and it decides what becomes of them. */
async function readTables(
  client: pg.Client,
  reader: ExportReader,
  { tables, onProgress, stage }: Target,
): Promise<number> {
  const rows: Record<string, number> = {}
  for (;;) {
    const line = await reader.readLine()
    const footer = Footer.safeParse(line)
    if (footer.success) {
      assertSameCounts(footer.data.rows, rows)
      return Object.values(rows).reduce((sum, count) => sum + count, 0)
    }
    const { table: name, columns } = parse(TableLine, line)
    const known = tables.find((table) => table.name === name)
    if (!known || name in rows || columns.some((column) => !known.columns.includes(column))) throw otherVersion()
    const into = (await stage?.open(known)) ?? name
    const copy = client.query(copyFrom(`copy ${columnList({ name: into, columns })} from stdin`))
    await pipeline(Readable.from(reader.readRows(), { objectMode: false }), copy)
    await stage?.take({ ...known, columns })
    rows[name] = copy.rowCount
    onProgress(name, copy.rowCount)
  }
}

function parse<T>(schema: { safeParse(value: unknown): { success: boolean; data?: T } }, line: unknown): T {
  const { data } = schema.safeParse(line)
  if (data === undefined)
    throw new TransferError('The file is not an export of Parley. Name a file of "npm run export"')
  return data
}

async function listMigrations(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>('select name from migrations order by name')
  return rows.map(({ name }) => name)
}

function assertSameMigrations(exported: string[], applied: string[]): void {
  if (exported.length !== applied.length || exported.some((name, index) => name !== applied[index]))
    throw otherVersion()
}

function otherVersion(): TransferError {
  return new TransferError(
    'The export was made by another version of Parley. Import it with that version, then upgrade the new database',
  )
}

function assertSameCounts(expected: Record<string, number>, rows: Record<string, number>): void {
  const wrong = Object.keys(expected).find((table) => expected[table] !== rows[table])
  if (wrong !== undefined)
    throw new TransferError(`The export is damaged: ${wrong} has another number of rows. Make the export again`)
}

async function assertEmpty(client: pg.Client, tables: Table[]): Promise<void> {
  for (const { name } of tables) {
    const { rows } = await client.query(`select from ${pg.escapeIdentifier(name)} limit 1`)
    if (rows.length > 0)
      throw new TransferError(
        `The database has rows in ${name}. Import into an empty database, and start Parley afterwards`,
      )
  }
}

async function listTriggers(client: pg.Client): Promise<{ table: string; name: string }[]> {
  const { rows } = await client.query<{ table: string; name: string }>(
    `select tgrelid::regclass::text as table, quote_ident(tgname) as name from pg_trigger
     join pg_class on pg_class.oid = tgrelid
     where relnamespace = 'public'::regnamespace and not tgisinternal and tgenabled = 'O'`,
  )
  return rows
}

/** Returns the statements that create them again. */
async function dropForeignKeys(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ table: string; name: string; definition: string }>(
    `select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
     from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace and conparentid = 0
     order by conrelid::regclass::text, conname`,
  )
  for (const { table, name } of rows) await client.query(`alter table ${table} drop constraint ${name}`)
  return rows.map(({ table, name, definition }) => `alter table ${table} add constraint ${name} ${definition}`)
}

async function continueSequences(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ sequence: string; table: string; column: string }>(
    `select s.oid::regclass::text as sequence, t.oid::regclass::text as table, quote_ident(attname) as column
     from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S'
     join pg_class t on t.oid = d.refobjid and t.relnamespace = 'public'::regnamespace
     join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
     where d.deptype in ('a', 'i') and d.classid = 'pg_class'::regclass`,
  )
  for (const { sequence, table, column } of rows) {
    await client.query(
      `select setval('${sequence}'::regclass, greatest(max(${column}), 1), max(${column}) is not null) from ${table}`,
    )
  }
}
