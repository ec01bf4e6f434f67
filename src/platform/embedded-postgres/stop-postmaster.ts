import { spawnSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { MINUTE, SECOND } from '../time.ts'
import { findPgCtl } from './binaries.ts'
import type { DataDirectory } from './data-directory.ts'
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts'
import { processIdentity } from './pid-files.ts'
import { findLivePostmaster, type Postmaster } from './postmaster.ts'
import { childEnvironment } from './run-program.ts'

const STOP_WAIT_MS = MINUTE
const EXIT_WAIT_MS = 15 * SECOND

/** Closes connections, rolls back their transactions and waits until the server has stopped. The caller has the boot lock. */
export async function stopPostmaster(folder: DataDirectory, binDir?: string): Promise<void> {
  const postmaster = findLivePostmaster(folder)
  if (!postmaster) return
  requestFastShutdown(folder, postmaster, binDir)
  const startedMs = performance.now()
  while (processIdentity(postmaster.pid) !== undefined) {
    if (performance.now() - startedMs > STOP_WAIT_MS) {
      throw new EmbeddedPostgresError(
        `The database in ${folder.data} is still stopping (process ${postmaster.pid}). No data is lost; the next start waits for it.`,
      )
    }
    await delay(10)
  }
}

/** Does the same without the event loop, which an exiting process does not run, and gives up after a shorter time. */
export function stopPostmasterSync(folder: DataDirectory, binDir?: string): void {
  const postmaster = findLivePostmaster(folder)
  if (!postmaster) return
  requestFastShutdown(folder, postmaster, binDir)
  const deadlineMs = performance.now() + EXIT_WAIT_MS
  while (processIdentity(postmaster.pid) !== undefined && performance.now() < deadlineMs) sleepSync(10)
}

function requestFastShutdown(folder: DataDirectory, { pid }: Postmaster, binDir: string | undefined): void {
  if (process.platform === 'win32') {
    const stop = ['stop', '-W', '-s', '-m', 'fast', '-D', folder.data]
    spawnSync(findPgCtl(binDir), stop, { env: childEnvironment(), stdio: 'ignore', windowsHide: true })
    return
  }
  try {
    process.kill(pid, 'SIGINT')
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error
  }
}

export function sleepSync(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
