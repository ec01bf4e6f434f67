import { spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withClient } from '../../src/platform/embedded-postgres/connection.ts'
import { freePort } from './free-port.ts'
import { createTempDir, type TempDir } from './temp-dir.ts'

const FOLDER = '/usr/lib/postgresql'
/** The account `nobody`: PostgreSQL does not run as root. */
const NOBODY = 65534
const ACCOUNT: { uid?: number; gid?: number } = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
const SETTINGS = { listen_addresses: '127.0.0.1', unix_socket_directories: '' }

/** Returns true where Debian's PostgreSQL is not installed, which is an error if CI is set: tests must not be skipped there. */
export function isDebianPostgresMissing(): boolean {
  if (findPrograms() !== undefined) return false
  if (process.env['CI']) throw new Error('postgresql is not installed, and CI must not skip the tests that need it')
  process.stderr.write('\n  !!! SKIPPED: postgresql is not installed, so its tests are not run\n\n')
  return true
}

function findPrograms(): string | undefined {
  const versions = existsSync(FOLDER) ? readdirSync(FOLDER) : []
  return versions.map((version) => join(FOLDER, version, 'bin')).find((bin) => existsSync(join(bin, 'postgres')))
}

type Settings = Record<string, string>

/** A PostgreSQL server of Debian, whose major version is older than that of the embedded server. */
export class DebianPostgres {
  /** Connects to a database as its owner. */
  readonly url: string
  readonly adminUrl: string
  readonly #folder: TempDir
  readonly #port: number

  private constructor(folder: TempDir, port: number) {
    this.#folder = folder
    this.#port = port
    this.url = `postgres://parley@127.0.0.1:${port}/parley`
    this.adminUrl = `postgres://postgres@127.0.0.1:${port}/postgres`
  }

  /** Starts a server with an empty database. */
  static async start(settings: Settings = { fsync: 'off' }): Promise<DebianPostgres> {
    const folder = createTempDir()
    createOwnedFolder(join(folder.path, 'data'))
    const postgres = new DebianPostgres(folder, await freePort())
    const pgdata = ['--pgdata', postgres.#data]
    run('initdb', ...pgdata, '--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C.UTF-8')
    postgres.#start(settings)
    await withClient(postgres.adminUrl, async (client) => {
      await client.query('create role parley login')
      await client.query('create database parley owner parley')
    })
    return postgres
  }

  /** Starts a server on a copy of a base backup, which recovers as the settings say. */
  static async recover(backup: string, settings: Settings): Promise<DebianPostgres> {
    const folder = createTempDir()
    const postgres = new DebianPostgres(folder, await freePort())
    cpSync(backup, postgres.#data, { recursive: true })
    writeFileSync(join(postgres.#data, 'recovery.signal'), '')
    giveToAccount(postgres.#data)
    postgres.#start(settings)
    return postgres
  }

  /** Executes commands of a shell as the account of the server, with its programs. `$ADMIN_URL` is its address. */
  execute(script: string): void {
    const env = { PATH: `${findPrograms()}:/usr/bin:/bin`, ADMIN_URL: this.adminUrl }
    const { status, stderr } = spawnSync('sh', ['-ec', script], { ...ACCOUNT, cwd: '/', env, encoding: 'utf8' })
    if (status !== 0) throw new Error(stderr)
  }

  /** Ends the server as a crash does. */
  kill(): void {
    run('pg_ctl', '--pgdata', this.#data, '--mode=immediate', '--wait', 'stop')
  }

  /** Removes the data, also of a server that was killed. */
  async stop(): Promise<void> {
    if (existsSync(join(this.#data, 'postmaster.pid'))) this.kill()
    await this.#folder.remove()
  }

  get #data(): string {
    return join(this.#folder.path, 'data')
  }

  #start(settings: Settings): void {
    const all = Object.entries({ ...SETTINGS, ...settings, port: String(this.#port) })
    appendFileSync(join(this.#data, 'postgresql.conf'), all.map(([name, value]) => `\n${name} = '${value}'`).join(''))
    run('pg_ctl', '--pgdata', this.#data, '--log', join(this.#data, 'log'), '--wait', 'start')
  }
}

/** Creates a folder that the server may write. */
export function createOwnedFolder(folder: string): void {
  mkdirSync(folder, 0o700)
  giveToAccount(folder)
}

function giveToAccount(path: string): void {
  if (ACCOUNT.uid === undefined) return
  const { status, stderr } = spawnSync('chown', ['-R', `${ACCOUNT.uid}:${ACCOUNT.gid}`, path], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}

function run(program: string, ...args: string[]): void {
  const file = join(findPrograms() ?? '', program)
  // The server keeps what it inherits open.
  const { status, error } = spawnSync(file, args, { ...ACCOUNT, cwd: '/', stdio: 'ignore' })
  if (status !== 0) throw error ?? new Error(`${program} ended with ${status}`)
}
