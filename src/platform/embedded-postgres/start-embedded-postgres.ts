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
import { ADMINISTRATOR, APPLICATION, connectionString, throughSocket } from './cluster/connection.ts'
import { ensureDatabase } from './cluster/ensure-database.ts'
import { assertSameMajor, initCluster } from './cluster/init-cluster.ts'
import { launchPostmaster } from './launch-postmaster.ts'
import type { Postmaster } from './postmaster.ts'
import { releaseAtExit } from './release-at-exit.ts'
import { writePidFile, listLivePidFiles, type PidFile } from './pid-files.ts'
import { childEnvironment, type ProgramEnvironment } from './run-program.ts'
import { serverAccount } from './cluster/server-account.ts'
import { stopPostmaster } from './stop-postmaster.ts'

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
    const adminUrl = connectionString(ADMINISTRATOR, 'postgres', postmaster.port, folder)
    await ensureDatabase(adminUrl, options.database ?? DATABASE, folder)
    return { postmaster, adopted: running !== undefined, pidFile, cancelRelease }
  } catch (error) {
    if (isJoined) await leave(folder, pidFile, options)
    pidFile.remove()
    cancelRelease()
    throw error
  }
}

async function startServer(folder: DataDirectory, options: EmbeddedPostgresOptions): Promise<Postmaster> {
  const environment = programEnvironment(folder, options)
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

async function leave(folder: DataDirectory, pidFile: PidFile, options: EmbeddedPostgresOptions): Promise<void> {
  pidFile.remove()
  if (listLivePidFiles(folder.clients).length > 0) return
  await stopPostmaster(folder, () => findBinaries(options.binDir, programEnvironment(folder, options)))
}

function programEnvironment(folder: DataDirectory, options: EmbeddedPostgresOptions): ProgramEnvironment {
  return { env: childEnvironment(options.environment), account: serverAccount(folder) }
}
