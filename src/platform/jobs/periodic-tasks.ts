import type { Logger } from '../log.ts'

/** Work that comes round by itself. Every process does it; each duty takes its rows so that two never take the same. */
export type PeriodicTask = { name: string; everyMs: number; run: () => Promise<unknown> }

/** Starts the rounds; the returned function ends them and waits for those under way. */
export function startPeriodicTasks(duties: PeriodicTask[], log: Logger): () => Promise<void> {
  const underWay = new Map<string, Promise<unknown>>()
  const timers = duties.map(({ name, everyMs, run }) => {
    const round = () => {
      // A round that is still going is not overtaken.
      if (underWay.has(name)) return
      const done = run()
        .catch((error: unknown) => log.warn({ err: error, duty: name }, 'duty failed, it comes round again'))
        .finally(() => underWay.delete(name))
      underWay.set(name, done)
    }
    return setInterval(round, everyMs)
  })
  return async () => {
    timers.forEach((timer) => clearInterval(timer))
    await Promise.all(underWay.values())
  }
}
