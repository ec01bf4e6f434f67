import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { MINUTE, SECOND } from '../time.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { listLivePidFiles, type PidFile, pidFilePid, writePidFile } from './pid-files.ts'
import { sleepSync } from './stop-postmaster.ts'

/** Longer than a start may take, so that the process that starts the server reports its error first. */
const WAIT_MS = 6 * MINUTE
const EXIT_WAIT_MS = 5 * SECOND

/**
 * Runs `work` while no other process runs its own on the same folder.
 *
 * Each process creates its own file exclusively and only then looks for others. Of two concurrent processes the later one
 * sees the file of the earlier one and backs off (or both do, and retry after random delays). A single lock file would
 * have to be removed after its owner died, and two processes that do so at once could remove each other's lock.
 */
export async function withBootLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const deadlineMs = performance.now() + WAIT_MS
  for (;;) {
    const pidFile = writePidFile(folder)
    try {
      const [rival] = listLivePidFiles(folder).filter((name) => name !== pidFile.name)
      if (rival === undefined) return await work()
      if (performance.now() > deadlineMs) throw lockedError(folder, rival)
    } finally {
      pidFile.remove()
    }
    await delay(randomInt(10, 60))
  }
}

/** Takes the boot lock while this process exits; undefined if another process keeps it, which then decides about the server. */
export function lockAtExit(folder: string): PidFile | undefined {
  const deadlineMs = performance.now() + EXIT_WAIT_MS
  for (;;) {
    const lock = writePidFile(folder)
    const rivals = listLivePidFiles(folder).filter((name) => pidFilePid(name) !== process.pid)
    if (rivals.length === 0) return lock
    lock.remove()
    if (performance.now() > deadlineMs) return undefined
    sleepSync(20)
  }
}

function lockedError(folder: string, rival: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `Process ${pidFilePid(rival)} has been starting or stopping the database in ${folder} for too long. End it and try again.`,
  )
}
