import { setTimeout as delay } from 'node:timers/promises'
import { MINUTE } from '../time.ts'
import type { Binaries } from './binaries.ts'
import type { DataDirectory } from './cluster/data-directory.ts'
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts'
import { findLivePostmaster } from './postmaster.ts'
import { processToken } from './pid-files.ts'
import { childEnvironment, runProgram } from './run-program.ts'

const STOP_WAIT_MS = MINUTE

/** Closes connections, rolls back their transactions and waits until the server has stopped. The caller has the boot lock. */
export async function stopPostmaster(folder: DataDirectory, findBinaries: () => Promise<Binaries>): Promise<void> {
  const postmaster = findLivePostmaster(folder)
  if (!postmaster) return
  if (process.platform === 'win32') await stopThroughPgCtl(folder, await findBinaries())
  else requestFastShutdown(postmaster.pid)
  const startedMs = performance.now()
  while (processToken(postmaster.pid) !== undefined) {
    if (performance.now() - startedMs > STOP_WAIT_MS) {
      throw new EmbeddedPostgresError(
        `The database in ${folder.data} is still stopping (process ${postmaster.pid}). No data is lost; the next start waits for it.`,
      )
    }
    await delay(10)
  }
}

function requestFastShutdown(pid: number): void {
  try {
    process.kill(pid, 'SIGINT')
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error
  }
}

async function stopThroughPgCtl(folder: DataDirectory, binaries: Binaries): Promise<void> {
  const seconds = String(STOP_WAIT_MS / 1000)
  const stop = ['stop', '-w', '-s', '-m', 'fast', '-t', seconds, '-D', folder.data]
  await runProgram(binaries.pgCtl, stop, { env: childEnvironment(), quiet: true })
}
