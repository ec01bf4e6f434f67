import pg from 'pg'
import { adoptPostmaster, type Postmaster } from './postmaster.ts'
import { findBinaries } from './binaries.ts'
import { lockAtExit, withBootLock } from './boot-lock.ts'
import {
  ADMINISTRATOR,
  APPLICATION,
  connectionString,
  derivePassword,
  throughSocket,
  withClient,
} from './connection.ts'
import {
  assertReachable,
  createDataDirectory,
  type DataDirectory,
  dataDirectory,
  hasCluster,
  serverAccount,
} from './data-directory.ts'
import { assertSameMajor, initCluster } from './init-cluster.ts'
import { launchPostmaster } from './launch-postmaster.ts'
import { listLivePidFiles, type PidFile, writePidFile } from './pid-files.ts'
import { childEnvironment } from './run-program.ts'
import { stopPostmaster, stopPostmasterSync } from './stop-postmaster.ts'

export type EmbeddedPostgresOptions = {
  /** The cluster is in its folder `postgres`. It must be on a local disk: two machines on one folder destroy it. */
  dataDir: string
  /** A folder with the PostgreSQL programs to use instead of the packaged ones. */
  binDir?: string
  database?: string
  /** Server settings. A running server keeps those it was started with. */
  settings?: Record<string, string>
  /** The environment that Windows programs need to start; on other systems none of it is passed on. */
  environment?: NodeJS.ProcessEnv
}

export type EmbeddedPostgres = {
  /** Connects as the account that owns the database. */
  connectionString: string
  /** The same through the server's Unix socket, if it has one. */
  socketConnectionString: string
  /** Connects as the superuser, to the database `postgres`. */
  adminConnectionString: string
  port: number
  pid: number
  /** True if the server was already running, for another process or for one that was killed. */
  adopted: boolean
  dataDir: string
  /**
   * Releases the server, and stops it if no other live process uses it. Call it after the last query. A process that
   * exits without this call does the same while it exits.
   */
  stop(): Promise<void>
}

const DATABASE = 'parley'

const DEFAULT_SETTINGS: Record<string, string> = {
  // The server's log contains no data of customers: no failed statements, their values or the keys they conflict with.
  // The application logs failed statements itself, without values.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_statement: 'none',
  log_min_duration_statement: '-1',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
  // The rows of queue tables live for seconds.
  autovacuum_naptime: '5s',
  // Containers have 64 MB of /dev/shm, less than one parallel hash join may need.
  ...(process.platform === 'win32' ? {} : { dynamic_shared_memory_type: 'mmap' }),
}

/**
 * Starts or joins the one server of a folder. The first process starts it, others join it, and the last one to stop
 * stops it. If all are killed the server keeps running, and the next process adopts it.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const folder = dataDirectory(options.dataDir)
  await createDataDirectory(folder)
  const joined = await withBootLock(folder.lock, () => join(folder, options))
  const { postmaster, adopted, pidFile, cancelRelease } = joined
  const { pid, port } = postmaster
  let stopped: Promise<void> | undefined
  const url = connectionString(APPLICATION, options.database ?? DATABASE, port, folder)
  return {
    connectionString: url,
    socketConnectionString: throughSocket(url, folder),
    adminConnectionString: connectionString(ADMINISTRATOR, 'postgres', port, folder),
    port,
    pid,
    adopted,
    dataDir: folder.dataDir,
    stop: () => (stopped ??= withBootLock(folder.lock, () => leave(folder, pidFile, options)).finally(cancelRelease)),
  }
}

type Joined = { postmaster: Postmaster; adopted: boolean; pidFile: PidFile; cancelRelease: () => void }

async function join(folder: DataDirectory, options: EmbeddedPostgresOptions): Promise<Joined> {
  const pidFile = writePidFile(folder.clients)
  // Before the server starts: a signal may end the process meanwhile.
  const cancelRelease = releaseAtExit(folder, pidFile, options.binDir)
  let isJoined = false
  try {
    const running = await adoptPostmaster(folder)
    const postmaster = running ?? (await startServer(folder, options))
    isJoined = true
    await createDatabase(folder, postmaster, options.database ?? DATABASE)
    return { postmaster, adopted: running !== undefined, pidFile, cancelRelease }
  } catch (error) {
    if (isJoined) await leave(folder, pidFile, options)
    pidFile.remove()
    cancelRelease()
    throw error
  }
}

async function startServer(folder: DataDirectory, options: EmbeddedPostgresOptions): Promise<Postmaster> {
  const environment = { env: childEnvironment(options.environment), account: serverAccount(folder) }
  const { account, env } = environment
  if (account) await assertReachable(folder, account, env)
  const binaries = await findBinaries(options.binDir, environment)
  assertSameMajor(folder, binaries)
  const settings = { ...DEFAULT_SETTINGS, ...options.settings }
  if (!hasCluster(folder)) {
    await initCluster(folder, binaries, { ...environment, isDurable: settings['fsync'] !== 'off' })
  }
  return launchPostmaster(folder, binaries, { ...environment, settings })
}

/** Creates the application's account and database if they are missing. The caller has the boot lock. */
async function createDatabase(folder: DataDirectory, { port }: Postmaster, database: string): Promise<void> {
  await withClient(connectionString(ADMINISTRATOR, 'postgres', port, folder), async (client) => {
    const account = pg.escapeIdentifier(APPLICATION)
    const accounts = await client.query('select from pg_roles where rolname = $1', [APPLICATION])
    if (accounts.rowCount === 0) {
      const password = pg.escapeLiteral(derivePassword(APPLICATION, folder))
      await client.query(`create role ${account} login password ${password}`)
    }
    const databases = await client.query('select from pg_database where datname = $1', [database])
    if (databases.rowCount === 0) {
      await client.query(`create database ${pg.escapeIdentifier(database)} owner ${account}`)
    }
  })
}

async function leave(folder: DataDirectory, pidFile: PidFile, { binDir }: EmbeddedPostgresOptions): Promise<void> {
  pidFile.remove()
  if (listLivePidFiles(folder.clients).length === 0) await stopPostmaster(folder, binDir)
}

/**
 * Releases the server when this process exits without having done so: after a failed start, or when a program calls
 * `process.exit`, as the knex command line does. Everything is synchronous, because an exiting process runs no event
 * loop. The returned function cancels it.
 */
function releaseAtExit(folder: DataDirectory, pidFile: PidFile, binDir: string | undefined): () => void {
  const release = () => {
    const lock = lockAtExit(folder.lock)
    try {
      pidFile.remove()
      if (lock && listLivePidFiles(folder.clients).length === 0) stopPostmasterSync(folder, binDir)
    } finally {
      lock?.remove()
    }
  }
  process.once('exit', release)
  return () => process.off('exit', release)
}
