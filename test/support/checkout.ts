import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findLivePostmaster } from '../../src/platform/embedded-postgres/postmaster.ts'
import { dataDirectory } from '../../src/platform/embedded-postgres/data-directory.ts'
import { MINUTE } from '../../src/platform/time.ts'
import { ROOT } from './documents.ts'
import { FOR_BUSY_MACHINES } from './parley-process.ts'
import { createTempDir } from './temp-dir.ts'
import { waitUntil } from './wait-until.ts'

/** The files that the commands of the project need. */
export const COPIED = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'knexfile.js',
  'docs',
  'packages/client/src',
  'src',
  'migrations',
  'seeds',
  'scripts',
]

export type Output = { code: number | null; stdout: string; stderr: string }

export type RunningProgram = { child: ChildProcess; output: Output; ended: Promise<Output> }

/** True if `script`, of util-linux, can open terminals. */
export const hasTerminals = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0

/** Runs git also in a clone that belongs to another account. */
function git(...args: string[]) {
  return spawnSync('git', ['-c', 'safe.directory=*', ...args], { cwd: ROOT, maxBuffer: 2 ** 28 })
}

/** Returns false without git or without the commit, which is not part of shallow clones. */
export function hasCommit(commit: string): boolean {
  return git('cat-file', '-e', `${commit}^{tree}`).status === 0
}

/** Copies the files of an earlier commit into an empty folder. */
function extractCommit(commit: string, folder: string): void {
  mkdirSync(folder)
  const archive = git('archive', commit, ...COPIED)
  const { status, stderr } = spawnSync('tar', ['-x', '-C', folder], { input: archive.stdout })
  if (archive.status !== 0 || status !== 0) throw new Error(`${archive.stderr.toString()}${stderr.toString()}`)
}

/** A first start compiles all files. On a busy machine, that takes a while. */
export const START_MAX_MS = 2 * MINUTE

/** The numbers of the present checkouts. Their paths are used again, as tsx keeps what it compiles by path. */
const numbers = new Set<number>()

/** A copy of the project in a folder of its own, whose programs run with its own embedded database. */
export class Checkout {
  readonly path: string
  readonly #remove: () => Promise<void>
  readonly #running = new Set<ChildProcess>()

  /** Copies the working tree, or the files of a commit. */
  constructor(name = 'parley', { commit }: { commit?: string } = {}) {
    let number = 0
    while (numbers.has(number)) number += 1
    const folder = createTempDir(`checkout-${number}`)
    numbers.add(number)
    this.path = join(folder.path, name)
    this.#remove = async () => {
      await folder.remove()
      numbers.delete(number)
    }
    if (commit !== undefined) extractCommit(commit, this.path)
    else for (const entry of COPIED) cpSync(join(ROOT, entry), join(this.path, entry), { recursive: true })
    const lockFile = (path: string) => readFileSync(join(path, 'package-lock.json'), 'utf8')
    if (lockFile(this.path) === lockFile(ROOT)) symlinkSync(join(ROOT, 'node_modules'), join(this.path, 'node_modules'))
    else this.#installPackages()
  }

  #installPackages(): void {
    const options = ['--prefer-offline', '--no-audit', '--no-fund']
    const { status, stderr } = spawnSync('npm', ['ci', ...options], { cwd: this.path, encoding: 'utf8' })
    if (status !== 0) throw new Error(`The packages of another commit could not be installed: ${stderr}`)
  }

  /** Adds a migration to this copy alone. Outside a transaction it may create indexes concurrently. */
  addMigration(name: string, statements: string[], { isInTransaction = true } = {}): void {
    const queries = statements.map((sql) => `  await knex.schema.raw(${JSON.stringify(sql)})\n`).join('')
    const source = [
      ...(isInTransaction ? [] : ['export const config = { transaction: false }\n']),
      `export async function up(knex) {\n${queries}}\n`,
      'export async function down() {}\n',
    ]
    writeFileSync(join(this.path, 'migrations', `${name}.ts`), source.join(''))
  }

  get hasRunningServer(): boolean {
    return findLivePostmaster(dataDirectory(join(this.path, '.parley'))) !== undefined
  }

  /** Starts a program and collects its output. */
  start(
    file: string,
    args: string[],
    env: NodeJS.ProcessEnv = {},
    stdin: 'ignore' | 'pipe' = 'ignore',
  ): RunningProgram {
    const child = spawn(file, args, {
      cwd: this.path,
      env: { ...process.env, ...FOR_BUSY_MACHINES, NODE_ENV: 'production', PORT: '0', LOG_LEVEL: 'info', ...env },
      stdio: [stdin, 'pipe', 'pipe'],
      // A group of its own, so that the programs started by npm are killed with it.
      detached: true,
    })
    this.#running.add(child)
    const output: Output = { code: null, stdout: '', stderr: '' }
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
    const ended = once(child, 'close').then(([code]) => {
      this.#running.delete(child)
      return Object.assign(output, { code: typeof code === 'number' ? code : null })
    })
    return { child, output, ended }
  }

  run(file: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Output> {
    return this.start(file, args, env).ended
  }

  /** Starts a command at a terminal of its own. What is written to its input is typed there; killing it closes the terminal. */
  startAtTerminal(command: string): RunningProgram {
    return this.start('script', ['-qec', command, '/dev/null'], { SHELL: '/bin/sh' }, 'pipe')
  }

  /** Starts the server and returns when it listens, or works in the background. */
  async serve(file: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<RunningProgram> {
    return this.untilListening(this.start(file, args, env))
  }

  async untilListening(server: RunningProgram): Promise<RunningProgram> {
    let hasEnded = false
    void server.ended.then(() => (hasEnded = true))
    const isListening = () => /listening on|background work only/.test(server.output.stdout)
    await waitUntil(() => hasEnded || isListening(), START_MAX_MS)
    if (hasEnded) throw new Error(`The server ended: ${server.output.stderr}${server.output.stdout}`)
    return server
  }

  async remove(): Promise<void> {
    for (const { pid } of this.#running) if (pid !== undefined) process.kill(-pid, 'SIGKILL')
    await this.#stopServer()
    await this.#remove()
  }

  async #stopServer(): Promise<void> {
    const postmaster = findLivePostmaster(dataDirectory(join(this.path, '.parley')))
    if (!postmaster) return
    process.kill(postmaster.pid, 'SIGINT')
    await waitUntil(() => !this.hasRunningServer)
  }
}
