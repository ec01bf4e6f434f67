import { LRUCache } from 'lru-cache'

const ENTRIES_MAX = 5000

/**
 * Results of reads that a process repeats often, each for a bounded time. Concurrent callers share one read, and a read
 * in progress when its key is deleted is not kept.
 */
export class ExpiringCache {
  readonly #entries = new LRUCache<string, { value: Promise<unknown>; at: number }>({ max: ENTRIES_MAX })

  /** Returns the result of a read that began at most `ms` ago. Failures are not kept. */
  get(key: string, ms: number, read: () => Promise<unknown>): Promise<unknown> {
    const at = performance.now()
    const known = this.#entries.get(key)
    if (known && at - known.at < ms) return known.value
    const entry = { value: read(), at }
    this.#entries.set(key, entry)
    entry.value.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key)
    })
    return entry.value
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }
}
