import { adoptPostmaster } from './adopt-postmaster.ts'
import { findBinaries } from './binaries.ts'
import { withBootLock } from './boot-lock.ts'
import {
  assertReachable,
  type DataDirectory,
  dataDirectory,
  hasCluster,
  createDataDirectory,
} from './cluster/data-directory.ts'
import { ADMINISTRATOR, APPLICATION, connectionString } from './cluster/connection.ts'
import { ensureDatabase } from './cluster/ensure-database.ts'
import { assertSameMajor, initCluster } from './cluster/init-cluster.ts'
import { launchPostmaster } from './launch-postmaster.ts'
import type { Postmaster } from './postmaster.ts'
import { writePidFile, listLivePidFiles, type PidFile } from './pid-files.ts'
import { childEnvironment, type ProgramEnvironment } from './run-program.ts'
import { serverAccount } from './cluster/server-account.ts'
import { stopPostmaster } from './stop-postmaster.ts'

export type EmbeddedPostgresOptions = {
  /** The cluster lives in its folder `postgres`. On a local disk: two machines on one folder destroy it. */
  dataDir: string
  /** A folder with the programs of another build. */
  binDir?: string
  database?: string
  /** Server settings. A server that already runs keeps the ones it was started with. */
  settings?: Record<string, string>
  /** The environment Windows programs need to start; elsewhere nothing of it is passed on. */
  environment?: NodeJS.ProcessEnv
}

export type EmbeddedPostgres = {
  /** As the account that owns the database. */
  connectionString: string
  /** As the superuser, in the database `postgres`. */
  adminConnectionString: string
  port: number
  pid: number
  /** The server was already at work, for another process or for one that was killed. */
  adopted: boolean
  dataDir: string
  /** Lets go of the server, and stops it when no other living process holds it. Call it after the last query. */
  stop(): Promise<void>
}

const DEFAULT_SETTINGS: Record<string, string> = {
  // Queue tables turn over their rows in seconds.
  autovacuum_naptime: '5s',
  // Containers have 64 MB of /dev/shm, less than one parallel hash join may want.
  ...(process.platform === 'win32' ? {} : { dynamic_shared_memory_type: 'mmap' }),
}

/**
 * One server per folder, however many processes ask for it: the first starts it, the others join it, and the last to
 * stop, whoever that is, stops it. When all are killed the server stays, and the next process adopts it.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const folder = dataDirectory(options.dataDir)
  createDataDirectory(folder)
  const { postmaster, adopted, mark } = await withBootLock(folder.lock, () => join(folder, options))
  const { pid, port } = postmaster
  let stopped: Promise<void> | undefined
  return {
    connectionString: connectionString(APPLICATION, databaseOf(options), port, folder),
    adminConnectionString: connectionString(ADMINISTRATOR, 'postgres', port, folder),
    port,
    pid,
    adopted,
    dataDir: folder.dataDir,
    stop: () => (stopped ??= withBootLock(folder.lock, () => leave(folder, mark, options))),
  }
}

type Joined = { postmaster: Postmaster; adopted: boolean; mark: PidFile }

async function join(folder: DataDirectory, options: EmbeddedPostgresOptions): Promise<Joined> {
  const running = await adoptPostmaster(folder)
  const postmaster = running ?? (await startServer(folder, options))
  const mark = writePidFile(folder.holders)
  try {
    const adminUrl = connectionString(ADMINISTRATOR, 'postgres', postmaster.port, folder)
    await ensureDatabase(adminUrl, databaseOf(options), folder)
    return { postmaster, adopted: running !== undefined, mark }
  } catch (error) {
    await leave(folder, mark, options)
    throw error
  }
}

async function startServer(folder: DataDirectory, options: EmbeddedPostgresOptions): Promise<Postmaster> {
  const surroundings = surroundingsOf(folder, options)
  const { account, env } = surroundings
  if (account) await assertReachable(folder, account, env)
  const binaries = await findBinaries(options.binDir, surroundings)
  assertSameMajor(folder, binaries)
  const settings = { ...DEFAULT_SETTINGS, ...options.settings }
  if (!hasCluster(folder)) {
    await initCluster(folder, binaries, { ...surroundings, isDurable: settings['fsync'] !== 'off' })
  }
  return launchPostmaster(folder, binaries, { ...surroundings, settings })
}

async function leave(folder: DataDirectory, mark: PidFile, options: EmbeddedPostgresOptions): Promise<void> {
  mark.remove()
  if (listLivePidFiles(folder.holders).length > 0) return
  await stopPostmaster(folder, () => findBinaries(options.binDir, surroundingsOf(folder, options)))
}

function surroundingsOf(folder: DataDirectory, options: EmbeddedPostgresOptions): ProgramEnvironment {
  return { env: childEnvironment(options.environment), account: serverAccount(folder) }
}

function databaseOf({ database = 'parley' }: EmbeddedPostgresOptions): string {
  return database
}
