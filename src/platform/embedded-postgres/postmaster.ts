import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { MINUTE } from '../time.ts'
import { ADMINISTRATOR, connectionString, withClient } from './connection.ts'
import { type DataDirectory, isSameFolder } from './data-directory.ts'
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts'
import { hasProc, processIdentity } from './pid-files.ts'

/** The contents of `postmaster.pid`, a file that only the server may write or delete. */
export type Postmaster = { pid: number; port: number; status: string }

/** The folder of a server's data. */
type DataFolder = Pick<DataDirectory, 'data'>

/** Recovery after a crash may take long; a server that is ready or stopping responds soon. */
const RECOVERY_WAIT_MS = 5 * MINUTE
const ANSWER_WAIT_MS = MINUTE

const WRONG_PASSWORD = '28P01'

export function readPostmaster(folder: DataFolder): Postmaster | undefined {
  const file = path.join(folder.data, 'postmaster.pid')
  if (!fs.existsSync(file)) return undefined
  const lines = readOrEmpty(file).split('\n')
  const pid = Math.abs(Number(lines[0]))
  return pid > 0 ? { pid, port: Number(lines[3]), status: lines[7]?.trim() ?? '' } : undefined
}

/** Finds the running server of this cluster, ignoring a file that a dead one left behind. */
export function findLivePostmaster(folder: DataFolder): Postmaster | undefined {
  const postmaster = readPostmaster(folder)
  return postmaster && isRunning(postmaster.pid, folder) ? postmaster : undefined
}

/** Lists all processes of this cluster's servers, including those whose postmaster is dead. Empty without /proc. */
export function listServerProcesses(folder: DataFolder): number[] {
  if (!hasProc()) return []
  const pids = fs.readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.filter((pid) => isSameFolder(`/proc/${pid}/cwd`, folder.data))
}

/**
 * Finds the server that already runs on this cluster, and verifies that it is this cluster's; undefined if there is none.
 * Waits for a server that is still starting or stopping.
 */
export async function adoptPostmaster(folder: DataDirectory): Promise<Postmaster | undefined> {
  const startedMs = performance.now()
  let connectionError: unknown
  for (;;) {
    const postmaster = findLivePostmaster(folder)
    if (!postmaster) return undefined
    if (postmaster.status === 'ready') {
      connectionError = await findConnectionError(postmaster, folder)
      if (connectionError === undefined) return postmaster
    }
    const waitMs = postmaster.status === 'starting' ? RECOVERY_WAIT_MS : ANSWER_WAIT_MS
    if (performance.now() - startedMs > waitMs) throw noResponseError(postmaster, folder, connectionError)
    await delay(20)
  }
}

/**
 * Checks that a PID is that of the server. In a leftover file it may be a zombie or an unrelated program. The working
 * directory of a server is its data folder, which Linux shows; on other systems any live process passes.
 */
function isRunning(pid: number, folder: DataFolder): boolean {
  if (processIdentity(pid) === undefined) return false
  return !hasProc() || isSameFolder(`/proc/${pid}/cwd`, folder.data)
}

function readOrEmpty(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** Returns undefined if the server accepts our password and serves our folder. */
async function findConnectionError({ pid, port }: Postmaster, folder: DataDirectory): Promise<unknown> {
  const url = connectionString(ADMINISTRATOR, 'postgres', port, folder)
  try {
    const result = await withClient(url, (client) => client.query('show data_directory'))
    const directory: string = result.rows[0].data_directory
    if (isSameFolder(directory, folder.data)) return undefined
    throw new EmbeddedPostgresError(
      `Process ${pid} was expected to serve the database in ${folder.data}, but serves the one in ${directory}.`,
    )
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) throw error
    if (errorCode(error) !== WRONG_PASSWORD) return error
    throw new EmbeddedPostgresError(
      `The server of ${folder.data} does not accept the secret in ${folder.secret}. Restore the original secret.`,
    )
  }
}

function noResponseError({ pid, port }: Postmaster, folder: DataDirectory, cause: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `Process ${pid} uses the database in ${folder.data} but does not answer on port ${port}. See ${folder.log}. ` +
      `End that process and start again.`,
    { cause },
  )
}
