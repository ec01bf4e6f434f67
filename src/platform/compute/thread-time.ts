import { readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'

/** Returns the ID by which others can read the time of the calling thread; undefined where the system does not tell it. */
export function currentThreadId(): number | undefined {
  try {
    const id = Number(basename(readlinkSync('/proc/thread-self')))
    return readThreadMs(id) > 0 ? id : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the processor time that a thread of this process has used, in ms, which does not grow while others have the
 * processors; NaN for a thread that has ended. Without an ID, it is the time that passes.
 */
export function readThreadMs(id: number | undefined): number {
  if (id === undefined) return performance.now()
  try {
    return Number.parseInt(readFileSync(`/proc/self/task/${id}/schedstat`, 'utf8'), 10) / 1e6
  } catch {
    return Number.NaN
  }
}
