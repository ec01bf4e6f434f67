import { SECOND } from '../time.ts'

/** Jobs that have waited this long for tasks that come first start nevertheless. */
const WAIT_MAX_MS = 5 * SECOND
/** The time that one job waits in all after it has started. */
const PAUSES_MAX_MS = 2 * SECOND

type Options = {
  /** Returns true while a job of a task that comes first is at work. */
  isPreceded: () => boolean
  /** Called when jobs have waited for long: returns their number. */
  countWaiting: () => number
  /** Called after it, when they may start. */
  onOverdue: () => void
}

/** Lets the jobs of a task wait while those of others come first, for a limited time. */
export class Precedence {
  readonly #options: Options
  /** Jobs that have started and let others go first. */
  readonly #paused = new Set<() => void>()
  /** Jobs that may start although others come first. */
  #overdue = 0
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(options: Options) {
    this.#options = options
  }

  /** True while no job may start. */
  get isClosed(): boolean {
    return this.#overdue === 0 && this.#options.isPreceded()
  }

  /** Has to be called when a job cannot start. All that wait at the end of the time may start then, later ones may not. */
  wait(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#overdue = this.#options.countWaiting()
      this.#options.onOverdue()
    }, WAIT_MAX_MS)
  }

  /** Has to be called when no job waits. */
  reset(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#overdue = 0
  }

  /** Counts a job that starts, and returns the function with which it lets others go first. */
  start(): () => Promise<void> | undefined {
    // A job that has waited for long does not wait again.
    let leftMs = this.#overdue > 0 ? 0 : PAUSES_MAX_MS
    if (this.#overdue > 0) this.#overdue -= 1
    return () => {
      if (leftMs <= 0 || this.#isStopped || !this.#options.isPreceded()) return undefined
      const startedMs = performance.now()
      return new Promise((resolve) => {
        const resume = () => {
          clearTimeout(timer)
          this.#paused.delete(resume)
          leftMs -= performance.now() - startedMs
          resolve()
        }
        const timer = setTimeout(() => {
          resume()
          leftMs = 0
        }, leftMs)
        this.#paused.add(resume)
      })
    }
  }

  /** Has to be called when the tasks that come first may be at rest. */
  resume(): void {
    if (!this.#isStopped && this.#options.isPreceded()) return
    for (const resume of this.#paused) resume()
  }

  stop(): void {
    this.#isStopped = true
    this.reset()
    this.resume()
  }
}
