import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { withClient } from '../../src/platform/embedded-postgres/connection.ts'
import { freePort } from './free-port.ts'
import { createTempDir, type TempDir } from './temp-dir.ts'

const FOLDER = '/usr/lib/postgresql'
/** The account `nobody`: PostgreSQL does not run as root. */
const NOBODY = 65534
const ACCOUNT = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
const SETTINGS = ['fsync=off', 'listen_addresses=127.0.0.1', 'unix_socket_directories=']

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

/** A PostgreSQL server of Debian, whose major version is older than that of the embedded server. */
export class DebianPostgres {
  /** Connects to an empty database as its owner. */
  readonly url: string
  readonly #folder: TempDir
  readonly #data: string

  private constructor(folder: TempDir, data: string, port: number) {
    this.#folder = folder
    this.#data = data
    this.url = `postgres://parley@127.0.0.1:${port}/parley`
  }

  static async start(): Promise<DebianPostgres> {
    const folder = createTempDir()
    const data = join(folder.path, 'data')
    mkdirSync(data, 0o700)
    chownSync(data, ACCOUNT.uid ?? -1, ACCOUNT.gid ?? -1)
    const port = await freePort()
    run('initdb', '--pgdata', data, '--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C.UTF-8')
    const options = [...SETTINGS, `port=${port}`].map((setting) => `-c ${setting}`).join(' ')
    run('pg_ctl', '--pgdata', data, '--log', join(data, 'log'), '--wait', '--options', options, 'start')
    await withClient(`postgres://postgres@127.0.0.1:${port}/postgres`, async (client) => {
      await client.query('create role parley login')
      await client.query('create database parley owner parley')
    })
    return new DebianPostgres(folder, data, port)
  }

  async stop(): Promise<void> {
    run('pg_ctl', '--pgdata', this.#data, '--mode=immediate', '--wait', 'stop')
    await this.#folder.remove()
  }
}

function run(program: string, ...args: string[]): void {
  const file = join(findPrograms() ?? '', program)
  // The server keeps what it inherits open.
  const { status, error } = spawnSync(file, args, { ...ACCOUNT, cwd: '/', stdio: 'ignore' })
  if (status !== 0) throw error ?? new Error(`${program} ended with ${status}`)
}
