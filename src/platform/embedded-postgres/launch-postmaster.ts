import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import fs from 'node:fs'
import net from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { MINUTE } from '../time.ts'
import type { Binaries } from './binaries.ts'
import { socketFolder } from './connection.ts'
import { type DataDirectory, giveToOwner } from './data-directory.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { listServerProcesses, type Postmaster, readPostmaster } from './postmaster.ts'
import { endAtExit, runProgram, type ProgramEnvironment } from './run-program.ts'

/** Includes the time to replay the write-ahead log after a crash. */
const START_WAIT_MS = 5 * MINUTE
const RETRY_WAIT_MS = MINUTE
const LOG_BYTES_MAX = 16 * 1024 * 1024

/** Below the ephemeral ports, which outgoing connections could occupy between two starts. */
const [LOWEST_PORT, HIGHEST_PORT] = [20_000, 32_000]
const PORT_ATTEMPTS = 50

type Launch = ProgramEnvironment & { settings: Record<string, string> }

/**
 * Starts the server and waits until it accepts connections. A start is retried if its port was taken meanwhile, or if a
 * backend of a killed server still runs its statement. The caller has the boot lock and has found no running server.
 */
export async function launchPostmaster(folder: DataDirectory, binaries: Binaries, launch: Launch): Promise<Postmaster> {
  const startedMs = performance.now()
  rotateLog(folder)
  for (;;) {
    const logBytes = fs.statSync(folder.log, { throwIfNoEntry: false })?.size ?? 0
    const settings = { ...launch.settings, ...connectionSettings(folder, await choosePort(folder)) }
    const start = process.platform === 'win32' ? startThroughPgCtl : startDirectly
    const postmaster = await start(folder, binaries, { ...launch, settings })
    if (postmaster) return postmaster
    const output = fs.readFileSync(folder.log).subarray(logBytes).toString()
    if (!TEMPORARY.test(output) || performance.now() - startedMs > RETRY_WAIT_MS) throw startError(folder, output)
    await delay(250)
  }
}

const TEMPORARY = /pre-existing shared memory block|could not bind|could not create any TCP\/IP sockets/

function connectionSettings(folder: DataDirectory, port: number): Record<string, string> {
  return { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: socketFolder(folder) ?? '' }
}

/**
 * Returns the port of the last start if it is free, so that processes that outlive the server find the next one; else a
 * new port, which is recorded for the next start.
 */
export async function choosePort(folder: DataDirectory): Promise<number> {
  const last = fs.existsSync(folder.port) ? Number(fs.readFileSync(folder.port, 'utf8')) : 0
  if (last > 0 && (await isFree(last))) return last
  for (let attempt = 0; attempt < PORT_ATTEMPTS; attempt++) {
    const port = randomInt(LOWEST_PORT, HIGHEST_PORT)
    if (!(await isFree(port))) continue
    const file = fs.openSync(folder.port, 'w', 0o644)
    fs.writeSync(file, String(port))
    giveToOwner(folder, file)
    fs.closeSync(file)
    return port
  }
  throw new EmbeddedPostgresError(
    `There is no free port between ${LOWEST_PORT} and ${HIGHEST_PORT} on 127.0.0.1 for the database.`,
  )
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = net.createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}

async function startDirectly(
  folder: DataDirectory,
  binaries: Binaries,
  launch: Launch,
): Promise<Postmaster | undefined> {
  const log = openLog(folder)
  const child = spawn(binaries.postgres, ['-D', folder.data, ...toFlags(launch.settings)], {
    env: { ...launch.env, ...ignoreLeftover(folder) },
    cwd: '/',
    ...launch.account,
    detached: true,
    stdio: ['ignore', log, log],
  })
  fs.closeSync(log)
  // Until it has written its file, by which it is found.
  const cancelEnd = endAtExit(child)
  let outcome: Error | 'exited' | undefined
  child.once('error', (error) => (outcome = error))
  child.once('exit', () => (outcome = 'exited'))
  child.unref()
  try {
    const startedMs = performance.now()
    for (;;) {
      const postmaster = readPostmaster(folder)
      if (postmaster?.pid === child.pid && postmaster?.status === 'ready') return postmaster
      if (outcome instanceof Error) throw outcome
      if (outcome === 'exited') return undefined
      if (performance.now() - startedMs > START_WAIT_MS)
        throw startError(folder, 'It is still starting. Wait and try again.')
      await delay(20)
    }
  } finally {
    cancelEnd()
  }
}

/** Starts through `pg_ctl`, which drops the rights of Windows administrators; they may not run the server. */
async function startThroughPgCtl(
  folder: DataDirectory,
  binaries: Binaries,
  launch: Launch,
): Promise<Postmaster | undefined> {
  const seconds = String(START_WAIT_MS / 1000)
  const options = toFlags(launch.settings).map((flag) => (flag === '-c' ? flag : `"${flag}"`))
  const wait = ['start', '-w', '-s', '-t', seconds, '-D', folder.data, '-l', folder.log, '-o', options.join(' ')]
  const { code } = await runProgram(binaries.pgCtl, wait, { ...launch, quiet: true })
  return code === 0 ? readPostmaster(folder) : undefined
}

/**
 * Makes the server ignore the process named in a leftover `postmaster.pid`. Otherwise it does not start while that PID
 * seems alive, even as a zombie or an unrelated process. Remaining backends are still detected by the shared memory.
 */
function ignoreLeftover(folder: DataDirectory): NodeJS.ProcessEnv {
  const leftover = readPostmaster(folder)
  return leftover ? { PG_GRANDPARENT_PID: String(leftover.pid) } : {}
}

function toFlags(settings: Record<string, string>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

function openLog(folder: DataDirectory): number {
  const file = fs.openSync(folder.log, 'a', 0o600)
  giveToOwner(folder, file)
  return file
}

function rotateLog({ log }: DataDirectory): void {
  const { size } = fs.statSync(log, { throwIfNoEntry: false }) ?? { size: 0 }
  if (size > LOG_BYTES_MAX) fs.renameSync(log, `${log}.old`)
}

function startError(folder: DataDirectory, output: string): EmbeddedPostgresError {
  const reasons = output.split('\n').filter((line) => /FATAL|HINT|DETAIL|could not|still starting/.test(line))
  const busy = listServerProcesses(folder)
  const advice = busy.length > 0 ? ` Processes that still use it: ${busy.join(', ')}.` : ''
  const reason = (reasons.length > 0 ? reasons.slice(-6).join('\n') : output).trim()
  return new EmbeddedPostgresError(
    `The database in ${folder.data} did not start. See ${folder.log}: ${reason}${advice}`,
  )
}
