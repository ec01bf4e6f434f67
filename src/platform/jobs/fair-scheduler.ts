type Options = {
  /** Tasks that may run at once. */
  max: number
  /** Tasks of one key that may run at once. */
  maxPerKey: number
  /** Claims at most `limit` tasks of a key. They are started at once and must not reject. */
  take: (key: string, limit: number) => Promise<(() => Promise<void>)[]>
}

/**
 * Runs long tasks for many keys with a global and a per-key concurrency limit, round-robin, so that a key with many
 * tasks leaves room for the others and a slow task delays only itself.
 */
export class FairScheduler {
  readonly #options: Options
  /** Keys that may have tasks, in the order of their turns. */
  readonly #ready = new Set<string>()
  readonly #running = new Map<string, number>()
  #total = 0
  #loop: Promise<void> | undefined
  #wake: () => void = () => undefined

  constructor(options: Options) {
    this.#options = options
  }

  /**
   * Schedules the tasks of a key. The first call resolves when no task runs any more, on behalf of all; calls made
   * meanwhile resolve at once.
   */
  schedule(key: string): Promise<void> {
    this.#ready.add(key)
    this.#wake()
    if (this.#loop) return Promise.resolve()
    this.#loop = this.#run().finally(() => (this.#loop = undefined))
    return this.#loop
  }

  async #run(): Promise<void> {
    for (;;) {
      const changed = new Promise<void>((resolve) => (this.#wake = resolve))
      const key = this.#next()
      if (key !== undefined) await this.#start(key)
      else if (this.#total > 0) await changed
      else return
    }
  }

  #next(): string | undefined {
    const { max, maxPerKey } = this.#options
    if (this.#total >= max) return undefined
    return [...this.#ready].find((key) => (this.#running.get(key) ?? 0) < maxPerKey)
  }

  async #start(key: string): Promise<void> {
    const { max, maxPerKey, take } = this.#options
    const limit = Math.min(max - this.#total, maxPerKey - (this.#running.get(key) ?? 0))
    this.#ready.delete(key)
    const tasks = await take(key, limit)
    for (const task of tasks) {
      this.#count(key, 1)
      void task().finally(() => {
        this.#count(key, -1)
        this.#wake()
      })
    }
    // The limit may have left tasks behind.
    if (tasks.length === limit) this.#ready.add(key)
  }

  #count(key: string, change: 1 | -1): void {
    const count = (this.#running.get(key) ?? 0) + change
    this.#total += change
    if (count > 0) this.#running.set(key, count)
    else this.#running.delete(key)
  }
}
