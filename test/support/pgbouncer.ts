import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { type Block, readDocument, ROOT } from './documents.ts'
import { freePort } from './free-port.ts'
import { killAtExit } from './kill-at-exit.ts'
import { createTempDir, type TempDir } from './temp-dir.ts'
import { waitUntil } from './wait-until.ts'

const PROGRAMS = ['pgbouncer', '/usr/sbin/pgbouncer']
/** The account `nobody`: PgBouncer does not run as root. */
const NOBODY = 65534
export const POOL_SIZE = 4

/** Returns true where PgBouncer is not installed, which is an error if CI is set: tests must not be skipped there. */
export function isPgbouncerMissing(): boolean {
  if (findProgram() !== undefined) return false
  if (process.env['CI']) throw new Error('pgbouncer is not installed, and CI must not skip the tests that need it')
  process.stderr.write('\n  !!! SKIPPED: pgbouncer is not installed, so its tests are not run\n\n')
  return true
}

function findProgram(): string | undefined {
  return PROGRAMS.find((program) => spawnSync(program, ['--version']).status === 0)
}

/** PgBouncer in transaction mode, with few sessions of the server. */
export class TestPgbouncer {
  readonly #program: ChildProcess
  readonly #folder: TempDir
  readonly #port: number

  private constructor(program: ChildProcess, folder: TempDir, port: number) {
    this.#program = program
    this.#folder = folder
    this.#port = port
  }

  static async start(databaseUrl: string): Promise<TestPgbouncer> {
    const { hostname, port: serverPort, username, password, pathname } = new URL(databaseUrl)
    const port = await freePort()
    const folder = createTempDir()
    chmodSync(folder.path, 0o755)
    const file = join(folder.path, 'pgbouncer.ini')
    const accounts = join(folder.path, 'userlist.txt')
    writeReplaced(file, readFileSync(join(ROOT, 'ops/pgbouncer/pgbouncer.ini'), 'utf8'), [
      ['parley = host=postgres port=5432', `${pathname.slice(1)} = host=${hostname} port=${serverPort}`],
      ['listen_addr = *', 'listen_addr = 127.0.0.1'],
      ['listen_port = 6432', `listen_port = ${port}`],
      ['/etc/pgbouncer/userlist.txt', accounts],
      ['default_pool_size = 20', `default_pool_size = ${POOL_SIZE}`],
    ])
    writeReplaced(accounts, readAccounts(), [
      ['"parley" "password"', `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"`],
    ])
    const account = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
    const program = spawn(findProgram() ?? 'pgbouncer', ['--quiet', file], { ...account, stdio: 'ignore' })
    killAtExit(program)
    const pgbouncer = new TestPgbouncer(program, folder, port)
    await waitUntil(() => isAnswering(pgbouncer.through(databaseUrl)))
    return pgbouncer
  }

  /** The URL of the same database by way of PgBouncer. */
  through(databaseUrl: string): string {
    const url = new URL(databaseUrl)
    url.port = String(this.#port)
    return url.href
  }

  async stop(): Promise<void> {
    const exited = once(this.#program, 'exit')
    this.#program.kill('SIGKILL')
    await exited
    await this.#folder.remove()
  }
}

/** Writes a file that the project contains, with the values of this server in place of those of the example. */
function writeReplaced(file: string, text: string, values: [documented: string, actual: string][]): void {
  let replaced = text
  for (const [documented, actual] of values) {
    if (!replaced.includes(documented)) throw new Error(`${text} does not contain "${documented}"`)
    replaced = replaced.replace(documented, actual)
  }
  writeFileSync(file, replaced)
}

/** The file of accounts that the guide for operators shows. */
function readAccounts(): string {
  const isShown = (block: Block) => block.heading === 'A connection pooler' && block.language === 'text'
  return readDocument('docs/operations.md').blocks.find(isShown)?.text ?? ''
}

async function isAnswering(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.end()
    return true
  } catch {
    return false
  }
}
