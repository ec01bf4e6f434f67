import { type ChildProcess, spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { findBinaries } from '../../src/platform/embedded-postgres/binaries.ts'
import {
  ADMINISTRATOR,
  APPLICATION,
  connectionString,
  withClient,
} from '../../src/platform/embedded-postgres/connection.ts'
import {
  type DataDirectory,
  dataDirectory,
  giveToOwner,
  serverAccount,
} from '../../src/platform/embedded-postgres/data-directory.ts'
import { choosePort } from '../../src/platform/embedded-postgres/launch-postmaster.ts'
import { childEnvironment } from '../../src/platform/embedded-postgres/run-program.ts'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/embedded-postgres/start-embedded-postgres.ts'
import { copyDataDir } from './embedded-clusters.ts'
import { createTempDir, type TempDir } from './temp-dir.ts'
import { waitUntil } from './wait-until.ts'

const DATABASE = 'parley'
const SETTINGS = { fsync: 'off', hot_standby_feedback: 'on' }

/** A primary and its synchronous standby: a commit is acknowledged when both have it. */
export class ReplicatedPair {
  readonly #folders: [TempDir, TempDir]
  readonly #primary: EmbeddedPostgres
  readonly #standby: ChildProcess
  readonly #standbyFolder: DataDirectory
  readonly #standbyPort: number

  private constructor(
    folders: [TempDir, TempDir],
    primary: EmbeddedPostgres,
    { standby, port, folder }: { standby: ChildProcess; port: number; folder: DataDirectory },
  ) {
    this.#folders = folders
    this.#primary = primary
    this.#standby = standby
    this.#standbyFolder = folder
    this.#standbyPort = port
  }

  /** `prepare` fills the database before it is copied. */
  static async start(prepare: (url: string) => Promise<unknown>): Promise<ReplicatedPair> {
    const folders: [TempDir, TempDir] = [createTempDir(), createTempDir()]
    const first = await startEmbeddedPostgres({ dataDir: folders[0].path, settings: SETTINGS })
    await prepare(first.connectionString)
    await first.stop()
    copyDataDir(folders[0].path, folders[1].path)
    const primary = await startEmbeddedPostgres({ dataDir: folders[0].path, settings: SETTINGS })
    const standby = await startStandby(dataDirectory(folders[1].path), primary.port)
    await withClient(primary.adminConnectionString, async (client) => {
      await client.query(`alter system set synchronous_standby_names = '*'`)
      await client.query('select pg_reload_conf()')
      await waitUntil(async () => {
        const { rows } = await client.query(`select from pg_stat_replication where sync_state = 'sync'`)
        return rows.length > 0
      })
    })
    return new ReplicatedPair(folders, primary, standby)
  }

  /** Both servers, the primary first. */
  get url(): string {
    return this.standbyUrl.replace(/@([^/]+)/, `@127.0.0.1:${this.#primary.port},$1`)
  }

  get standbyUrl(): string {
    return connectionString(APPLICATION, DATABASE, this.#standbyPort, this.#standbyFolder)
  }

  get primaryUrl(): string {
    return this.#primary.connectionString
  }

  killPrimary(): void {
    this.#signalPrimary('SIGKILL')
  }

  /** Stops the primary and its sessions, whose connections stay open. */
  freezePrimary(): void {
    this.#signalPrimary('SIGSTOP')
  }

  /** Lets a frozen primary continue, which does not know that another server has been promoted. */
  thawPrimary(): void {
    this.#signalPrimary('SIGCONT')
  }

  async promoteStandby(): Promise<void> {
    const url = connectionString(ADMINISTRATOR, 'postgres', this.#standbyPort, this.#standbyFolder)
    await withClient(url, (client) => client.query('select pg_promote(true, 30)'))
  }

  async stop(): Promise<void> {
    this.killPrimary()
    await this.#primary.stop()
    this.#standby.kill('SIGQUIT')
    await waitUntil(() => this.#standby.exitCode !== null || this.#standby.signalCode !== null)
    for (const folder of this.#folders) await folder.remove()
  }

  #signalPrimary(signal: NodeJS.Signals): void {
    for (const pid of [...listChildren(this.#primary.pid), this.#primary.pid]) {
      try {
        process.kill(pid, signal)
      } catch {
        // The process has ended meanwhile.
      }
    }
  }
}

async function startStandby(folder: DataDirectory, primaryPort: number) {
  const signalFile = fs.openSync(path.join(folder.data, 'standby.signal'), 'w', 0o600)
  fs.fchownSync(signalFile, fs.statSync(folder.data).uid, fs.statSync(folder.data).gid)
  fs.closeSync(signalFile)
  const account = serverAccount(folder)
  const env = childEnvironment()
  const { postgres } = await findBinaries(undefined, { env, account })
  const port = await choosePort(folder)
  const primary = new URL(connectionString(ADMINISTRATOR, 'postgres', primaryPort, folder))
  const settings = {
    ...SETTINGS,
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    dynamic_shared_memory_type: 'mmap',
    primary_conninfo: `host=127.0.0.1 port=${primaryPort} user=${ADMINISTRATOR} password=${primary.password} application_name=standby`,
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const log = fs.openSync(folder.log, 'a', 0o600)
  giveToOwner(folder, log)
  const standby = spawn(postgres, ['-D', folder.data, ...flags], {
    env,
    cwd: '/',
    ...account,
    detached: true,
    stdio: ['ignore', log, log],
  })
  fs.closeSync(log)
  const url = connectionString(ADMINISTRATOR, 'postgres', port, folder)
  await waitUntil(() =>
    withClient(url, (client) => client.query('select 1')).then(
      () => true,
      () => false,
    ),
  )
  return { standby, port, folder }
}

/** The processes of the server; each has a process group of its own. */
function listChildren(pid: number): number[] {
  return fs.readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const parent = /^\d+ \(.*\) \S (\d+)/.exec(fs.readFileSync(`/proc/${name}/stat`, 'utf8'))?.[1]
      return Number(parent) === pid ? [Number(name)] : []
    } catch {
      return []
    }
  })
}
