import { once } from 'node:events'
import {
  createReadStream,
  createWriteStream,
  type ReadStream,
  renameSync,
  rmSync,
  statSync,
  type WriteStream,
} from 'node:fs'
import type pg from 'pg'
import { type Config, loadConfig, readEnvironment } from '../config.ts'
import { describeStartError } from '../describe-start-error.ts'
import { recount } from '../features/counts/maintain-counts.ts'
import { closeDatabase, openDatabase } from '../platform/database/database.ts'
import { migrate } from '../platform/database/migrate.ts'
import type { ResolvedDatabase } from '../platform/database/resolve-database.ts'
import { ServerClient } from '../platform/database/servers/server-client.ts'
import { DiskSpace } from '../platform/files/disk-space.ts'
import { createLogger } from '../platform/log.ts'
import { exitOnSignals } from '../platform/process/read-command.ts'
import { exportDatabase } from '../platform/transfer/export-database.ts'
import { type Progress, TransferError } from '../platform/transfer/export-format.ts'
import { importDatabase } from '../platform/transfer/import-database.ts'
import { DAY } from '../platform/time.ts'
import { assertMigrated, withConfiguredDatabase } from './configured-database.ts'
import { ProblemError } from './workflow-files.ts'

/** Writes the configured database to a file, which appears under its name when it is complete. */
export function exportToFile(file: string): Promise<void> {
  return transfer(async (client, database, onProgress) => {
    await assertMigrated(database)
    const partial = `${file}.partial`
    assertNoFolder(file)
    const output = await opened(createWriteStream(partial, { mode: 0o600 }))
    try {
      const rows = await exportDatabase(client, output, { onProgress })
      renameSync(partial, file)
      return `Exported ${rows} rows to ${file}. Keep SECRET_KEY, or the file secret-key of DATA_DIR, with it: credentials are encrypted with it.`
    } finally {
      rmSync(partial, { force: true })
    }
  })
}

/** Reads a file of `exportToFile` into the configured database, whose tables are created if they are missing. */
export function importFromFile(file: string): Promise<void> {
  return transfer(async (client, database, onProgress) => {
    assertNoFolder(file)
    const input = await opened(createReadStream(file))
    await migrate(database.sessionUrl, createLogger('warn'))
    const { rows, workspace } = await importDatabase(client, input, onProgress)
    if (!workspace) return `Imported ${rows} rows. Start Parley with the SECRET_KEY of the exported database.`
    await recountWorkspace(database, workspace.id)
    const { id, members, skipped } = workspace
    return `Imported ${rows} rows of the workspace ${id} with ${members} members; ${skipped} others have an unverified account here. Add the SECRET_KEY of the exported database to SECRET_KEYS.`
  }, assertDiskFree)
}

function assertNoFolder(file: string): void {
  if (isFolder(file)) throw new TransferError(`${file} is a folder. Name a file in it`)
}

/**
 * Writes a workspace of the configured database to the standard output, and returns true.
 * @throws ProblemError for a terminal
 */
export async function exportWorkspace({ workspaceId }: { workspaceId: string }): Promise<boolean> {
  if (process.stdout.isTTY) throw new ProblemError('The export is no text. Write it to a file: parley export … > file')
  const message = await withConfiguredDatabase(loadConfig(readEnvironment()), async (database) => {
    await assertMigrated(database)
    return withSession(database, async (client) => {
      const rows = await exportDatabase(client, process.stdout, { onProgress: printProgress, workspaceId })
      return `Exported ${rows} rows. They are imported where SECRET_KEYS has the key that encrypted their credentials.`
    })
  }).catch((error: unknown) => {
    throw error instanceof TransferError ? new ProblemError(error.message) : error
  })
  process.stderr.write(`${message}\n`)
  return true
}

/** Counts the rows of an imported workspace, which processes may use already. */
async function recountWorkspace({ sessionUrl }: ResolvedDatabase, workspaceId: string): Promise<void> {
  const db = openDatabase(sessionUrl, { connections: 1, statementTimeoutMs: DAY, name: 'parley recount' })
  try {
    await recount(db, workspaceId)
  } finally {
    await closeDatabase(db)
  }
}

/** @throws TransferError if the disk of the embedded database has less free space than should be kept */
async function assertDiskFree({ database, dataDir, diskFreeBytesMin }: Config): Promise<void> {
  if (database.url !== undefined) return
  const disk = new DiskSpace({ folder: dataDir, freeBytesMin: diskFreeBytesMin, log: createLogger('silent') })
  if (!(await disk.isLow())) return
  throw new TransferError(
    `The disk of ${dataDir} has too little free space. Make room, or choose with DISK_FREE_MIN_MB how much is kept free`,
  )
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** @throws TransferError if the file cannot be opened, such as one in a folder that is missing */
async function opened<Stream extends ReadStream | WriteStream>(stream: Stream): Promise<Stream> {
  try {
    await once(stream, 'open')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new TransferError(`The file cannot be opened: ${reason}. Name another one`)
  }
  return stream
}

type Work = (client: pg.Client, database: ResolvedDatabase, onProgress: Progress) => Promise<string>

/** Executes the work and prints its result, or what the operator has to change. */
async function transfer(work: Work, check?: (config: Config) => Promise<void>): Promise<void> {
  exitOnSignals()
  try {
    const config = loadConfig(readEnvironment())
    await check?.(config)
    process.stdout.write(`${await withConfiguredDatabase(config, (database) => withSession(database, work))}\n`)
  } catch (error) {
    const isMistake = error instanceof TransferError || error instanceof ProblemError
    process.stderr.write(`${isMistake ? error.message : describeStartError(error)}\n`)
    process.exitCode = 1
  }
}

async function withSession(database: ResolvedDatabase, work: Work): Promise<string> {
  const client = new ServerClient({ connectionString: database.sessionUrl, application_name: 'parley transfer' })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await work(client, database, printProgress)
  } finally {
    await client.end().catch(() => undefined)
  }
}

function printProgress(table: string, rows: number): void {
  if (process.stderr.isTTY && rows > 0) process.stderr.write(`${table}: ${rows} rows\n`)
}
