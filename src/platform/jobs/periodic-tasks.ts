import type { Logger } from '../log.ts'

/** Work repeated on a timer by every process. Each task claims its rows, so that two processes never work on the same. */
export type PeriodicTask = { name: string; everyMs: number; run: () => Promise<unknown> }

/** Starts the timers. The returned function stops them and waits for the tasks in progress. */
export function startPeriodicTasks(tasks: PeriodicTask[], log: Logger): () => Promise<void> {
  const running = new Map<string, Promise<unknown>>()
  const timers = tasks.map(({ name, everyMs, run }) => {
    const tick = () => {
      // A task that takes longer than its interval is not started a second time.
      if (running.has(name)) return
      const done = run()
        .catch((error: unknown) => log.warn({ err: error, task: name }, 'periodic task failed and will be repeated'))
        .finally(() => running.delete(name))
      running.set(name, done)
    }
    return setInterval(tick, everyMs)
  })
  return async () => {
    timers.forEach((timer) => clearInterval(timer))
    await Promise.all(running.values())
  }
}
