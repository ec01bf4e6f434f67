import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { MINUTE } from '../time.ts'
import type { Binaries } from './binaries.ts'
import { choosePort } from './cluster/choose-port.ts'
import { type DataDirectory, giveToOwner } from './cluster/data-directory.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { listServerProcesses, type Postmaster, readPostmaster } from './postmaster.ts'
import { runProgram, type ProgramEnvironment } from './run-program.ts'

/** Replaying the log after a crash is part of starting. */
const START_WAIT_MS = 5 * MINUTE
const RETRY_WAIT_MS = MINUTE
const LOG_BYTES_MAX = 16 * 1024 * 1024

type Launch = ProgramEnvironment & { settings: Record<string, string> }

/**
 * Starts the server and waits until it takes connections. A port that was taken meanwhile, and a backend of a killed
 * server that is still busy with its statement, pass: such starts are tried again. The caller holds the boot lock and
 * has found no server at work.
 */
export async function launchPostmaster(folder: DataDirectory, binaries: Binaries, launch: Launch): Promise<Postmaster> {
  const beganMs = performance.now()
  turnLog(folder)
  for (;;) {
    const logBytes = fs.statSync(folder.log, { throwIfNoEntry: false })?.size ?? 0
    const settings = { ...launch.settings, ...placement(folder, await choosePort(folder)) }
    const start = process.platform === 'win32' ? startThroughPgCtl : startDirectly
    const postmaster = await start(folder, binaries, { ...launch, settings })
    if (postmaster) return postmaster
    const said = fs.readFileSync(folder.log).subarray(logBytes).toString()
    if (!PASSING.test(said) || performance.now() - beganMs > RETRY_WAIT_MS) throw failure(folder, said)
    await delay(250)
  }
}

const PASSING = /pre-existing shared memory block|could not bind|could not create any TCP\/IP sockets/

/** Socket paths have about a hundred bytes; the default folder, /tmp, is shared with the sockets of other accounts. */
const SOCKET_FOLDER_BYTES_MAX = 85

function placement({ data }: DataDirectory, port: number): Record<string, string> {
  const hasSocket = process.platform !== 'win32' && Buffer.byteLength(data) <= SOCKET_FOLDER_BYTES_MAX
  return { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: hasSocket ? data : '' }
}

async function startDirectly(
  folder: DataDirectory,
  binaries: Binaries,
  launch: Launch,
): Promise<Postmaster | undefined> {
  const log = openLog(folder)
  const child = spawn(binaries.postgres, ['-D', folder.data, ...flags(launch.settings)], {
    env: { ...launch.env, ...pardonLeftover(folder) },
    cwd: '/',
    ...launch.account,
    detached: true,
    stdio: ['ignore', log, log],
  })
  fs.closeSync(log)
  let end: Error | 'exited' | undefined
  child.once('error', (error) => (end = error))
  child.once('exit', () => (end = 'exited'))
  child.unref()
  const beganMs = performance.now()
  for (;;) {
    const postmaster = readPostmaster(folder)
    if (postmaster?.pid === child.pid && postmaster?.status === 'ready') return postmaster
    if (end instanceof Error) throw end
    if (end === 'exited') return undefined
    if (performance.now() - beganMs > START_WAIT_MS) throw failure(folder, 'It is still starting; wait and try again.')
    await delay(20)
  }
}

/** Windows administrators may not run the server; `pg_ctl` sheds their rights first. */
async function startThroughPgCtl(
  folder: DataDirectory,
  binaries: Binaries,
  launch: Launch,
): Promise<Postmaster | undefined> {
  const seconds = String(START_WAIT_MS / 1000)
  const options = flags(launch.settings).map((flag) => (flag === '-c' ? flag : `"${flag}"`))
  const wait = ['start', '-w', '-s', '-t', seconds, '-D', folder.data, '-l', folder.log, '-o', options.join(' ')]
  const { code } = await runProgram(binaries.pgCtl, wait, { ...launch, quiet: true })
  return code === 0 ? readPostmaster(folder) : undefined
}

/**
 * The server refuses to start while the process named in a leftover `postmaster.pid` seems to live, be it a zombie or a
 * stranger with the same pid. It ignores the process that this variable names; that no backend of the old server is
 * left, it still checks by the shared memory.
 */
function pardonLeftover(folder: DataDirectory): NodeJS.ProcessEnv {
  const leftover = readPostmaster(folder)
  return leftover ? { PG_GRANDPARENT_PID: String(leftover.pid) } : {}
}

function flags(settings: Record<string, string>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

function openLog(folder: DataDirectory): number {
  const file = fs.openSync(folder.log, 'a', 0o600)
  giveToOwner(folder, file)
  return file
}

function turnLog({ log }: DataDirectory): void {
  const { size } = fs.statSync(log, { throwIfNoEntry: false }) ?? { size: 0 }
  if (size > LOG_BYTES_MAX) fs.renameSync(log, `${log}.old`)
}

function failure(folder: DataDirectory, said: string): EmbeddedPostgresError {
  const reasons = said.split('\n').filter((line) => /FATAL|HINT|DETAIL|could not|still starting/.test(line))
  const busy = listServerProcesses(folder)
  const advice = busy.length > 0 ? ` Processes still at work on it: ${busy.join(', ')}.` : ''
  const reason = (reasons.length > 0 ? reasons.slice(-6).join('\n') : said).trim()
  return new EmbeddedPostgresError(
    `The database in ${folder.data} did not start, see ${folder.log}: ${reason}${advice}`,
  )
}
