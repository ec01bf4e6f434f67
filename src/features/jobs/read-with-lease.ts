import { Job as JobRow } from '../../models/jobs.ts'
import { addMs, MINUTE, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { JobKind, JobLine, Portion } from './job-kind.ts'

/** A worker that neither reads nor stores for so long has ended, and another one goes on. */
export const LEASE_MS = 15 * SECOND
const RENEW_EVERY_MS = LEASE_MS / 3
const READ_MS_MAX = MINUTE

/**
 * Reads the portions of a job. What a kind reads from, such as a file store, may be slow, so the lease is renewed meanwhile:
 * while a portion is stored, the lock on the job keeps other workers away.
 * @throws Error if a portion takes longer than a minute
 */
export async function* readWithLease(
  scope: Scope,
  kind: JobKind,
  job: JobRow,
): AsyncGenerator<Portion<JobLine> | undefined> {
  const portions = kind.read(scope, job)[Symbol.asyncIterator]()
  let isReading = false
  try {
    for (;;) {
      isReading = true
      const { done, value } = await keepLease(scope, job, portions.next())
      isReading = false
      if (done) return
      yield value
    }
  } finally {
    // A read that hangs is left to the deadline of what it waits for.
    const closed = Promise.resolve(portions.return?.()).catch(() => undefined)
    if (!isReading) await closed
  }
}

async function keepLease<T>(scope: Scope, { id, portions }: JobRow, reading: Promise<T>): Promise<T> {
  const endsAt = performance.now() + READ_MS_MAX
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const renew = async () => {
      if (performance.now() > endsAt)
        throw new Error(`Reading a portion takes longer than ${READ_MS_MAX / SECOND} seconds`)
      await scope
        .query(JobRow)
        .findOne({ id, portions, status: 'running' })
        .patch({ workAt: addMs(scope.now(), LEASE_MS) })
    }
    timer = setInterval(() => void renew().catch(reject), RENEW_EVERY_MS)
  })
  try {
    return await Promise.race([reading, late])
  } finally {
    clearInterval(timer)
    reading.catch(() => undefined)
  }
}
