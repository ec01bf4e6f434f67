import { spawnSync } from 'node:child_process'
import { SECOND } from '../time.ts'
import { findPgCtl } from './binaries.ts'
import type { DataDirectory } from './cluster/data-directory.ts'
import { type PidFile, listLivePidFiles, pidFilePid, processToken, writePidFile } from './pid-files.ts'
import { findLivePostmaster } from './postmaster.ts'
import { childEnvironment } from './run-program.ts'
import { pgCtlStop, requestFastShutdown } from './stop-postmaster.ts'

const LOCK_WAIT_MS = 5 * SECOND
const STOP_WAIT_MS = 15 * SECOND

/**
 * Releases the server when this process exits without having done so: after a failed start, or when a program calls
 * `process.exit`, as the knex command line does. Everything is synchronous, because an exiting process runs no event
 * loop. The returned function cancels it.
 */
export function releaseAtExit(folder: DataDirectory, pidFile: PidFile, binDir: string | undefined): () => void {
  const release = () => {
    const lock = lockSync(folder)
    try {
      pidFile.remove()
      if (lock && listLivePidFiles(folder.clients).length === 0) stopSync(folder, binDir)
    } finally {
      lock?.remove()
    }
  }
  process.once('exit', release)
  return () => process.off('exit', release)
}

/** Takes the boot lock; undefined if another process keeps it, which then decides about the server. */
function lockSync(folder: DataDirectory): PidFile | undefined {
  const deadlineMs = performance.now() + LOCK_WAIT_MS
  for (;;) {
    const lock = writePidFile(folder.lock)
    const rivals = listLivePidFiles(folder.lock).filter((name) => pidFilePid(name) !== process.pid)
    if (rivals.length === 0) return lock
    lock.remove()
    if (performance.now() > deadlineMs) return undefined
    sleepSync(20)
  }
}

function stopSync(folder: DataDirectory, binDir: string | undefined): void {
  const postmaster = findLivePostmaster(folder)
  if (!postmaster) return
  if (process.platform === 'win32') {
    spawnSync(findPgCtl(binDir), pgCtlStop(folder, STOP_WAIT_MS), { env: childEnvironment(), stdio: 'ignore' })
    return
  }
  requestFastShutdown(postmaster.pid)
  const deadlineMs = performance.now() + STOP_WAIT_MS
  while (processToken(postmaster.pid) !== undefined && performance.now() < deadlineMs) sleepSync(10)
}

function sleepSync(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
