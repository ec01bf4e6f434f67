import { LRUCache } from 'lru-cache'

const ENTRIES_MAX = 5000

/**
 * Results of reads that a process repeats often, each for a bounded time. Concurrent callers share one read, and a read
 * in progress when its key is deleted is not kept.
 */
export class ExpiringCache {
  readonly #entries: LRUCache<string, { value: Promise<unknown>; at: number }>

  constructor({ entriesMax = ENTRIES_MAX }: { entriesMax?: number } = {}) {
    this.#entries = new LRUCache({ max: entriesMax })
  }

  /**
   * Returns the result of a read that began at most `ms` ago: later callers do not wait for a read that hangs. Failures are
   * not kept. All results of a key have one type.
   */
  get<T>(key: string, ms: number, read: () => Promise<T>): Promise<T> {
    const at = performance.now()
    const known = this.#entries.get(key)
    if (known && at - known.at < ms) return known.value as Promise<T>
    const value = read()
    const entry = { value, at }
    this.#entries.set(key, entry)
    value.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key)
    })
    return value
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }
}
