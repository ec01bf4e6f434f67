import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { MINUTE } from '../time.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { writePidFile, listLivePidFiles, pidFilePid } from './pid-files.ts'

/** Longer than a start may take, so that whoever waits sees the holder's own error first. */
const WAIT_MS = 6 * MINUTE

/**
 * Runs `work` while no other process runs its own on the same folder.
 *
 * Each contender makes its own file exclusively and only then looks for others: of two at once, the later one sees the
 * earlier one's file and steps back (or both do, and try again after unequal pauses). A single lock file would have to
 * be taken away from a dead holder, and two who find it dead at once can take it from each other.
 */
export async function withBootLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const deadlineMs = performance.now() + WAIT_MS
  for (;;) {
    const mark = writePidFile(folder)
    try {
      const [rival] = listLivePidFiles(folder).filter((name) => name !== mark.name)
      if (rival === undefined) return await work()
      if (performance.now() > deadlineMs) throw occupied(folder, rival)
    } finally {
      mark.remove()
    }
    await delay(randomInt(10, 60))
  }
}

function occupied(folder: string, rival: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `Process ${pidFilePid(rival)} has been starting or stopping the database in ${folder} for too long; end it and try again.`,
  )
}
