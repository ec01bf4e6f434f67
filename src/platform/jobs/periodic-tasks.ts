import { withinTime } from '../concurrency/deadline.ts'
import type { Logger } from '../log.ts'
import { count, metrics, observeSince } from '../metrics.ts'
import { MINUTE } from '../time.ts'

/** A task that takes longer counts as failed, and its next run starts although it may still be in progress. */
const TASK_MAX_MS = MINUTE

/** Work repeated on a timer by every process. Each task claims its rows, so that two processes never work on the same. */
export type PeriodicTask = { name: string; everyMs: number; run: () => Promise<unknown> }

/** Starts the timers. The returned function stops them and waits at most `graceMs` for the tasks in progress. */
export function startPeriodicTasks(tasks: PeriodicTask[], log: Logger): (graceMs: number) => Promise<void> {
  const running = new Map<string, Promise<unknown>>()
  const timers = tasks.map(({ name, everyMs, run }) => {
    const tick = () => {
      // A task that takes longer than its interval is not started a second time.
      if (running.has(name)) return
      const startMs = performance.now()
      const done = withinTime(TASK_MAX_MS, run())
        .catch((error: unknown) => {
          count(metrics.periodicTaskFailed, { task: name })
          log.warn(
            { event: 'periodic_task_failed', err: error, task: name },
            'periodic task failed and will be repeated',
          )
        })
        .finally(() => {
          observeSince(metrics.periodicTask, { task: name }, startMs)
          running.delete(name)
        })
      running.set(name, done)
    }
    return setInterval(tick, everyMs)
  })
  return async (graceMs) => {
    timers.forEach((timer) => clearInterval(timer))
    await withinTime(graceMs, Promise.all(running.values())).catch(() => undefined)
  }
}
