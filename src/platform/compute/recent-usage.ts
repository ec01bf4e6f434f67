import { LRUCache } from 'lru-cache'
import { MINUTE } from '../time.ts'

const HALF_LIFE_MS = MINUTE
/** The time after which a long computation says nothing any more about the next ones. */
const LONG_MS_MAX = 5 * MINUTE
/** Keys beyond these are forgotten, those that were charged the longest ago first. */
const KEYS_MAX = 10_000

type Usage = { ms: number; atMs: number; longAtMs: number }

/** The thread time that keys have used lately: what was used a minute ago counts half. */
export class RecentUsage {
  readonly #byKey = new LRUCache<string, Usage>({ max: KEYS_MAX })

  get size(): number {
    return this.#byKey.size
  }

  /** Adds time to the keys. `isLong` tells that the computation is a long one. */
  add(keys: readonly string[], ms: number, isLong: boolean): void {
    const atMs = performance.now()
    for (const key of keys) {
      const { longAtMs = Number.NEGATIVE_INFINITY } = this.#byKey.peek(key) ?? {}
      this.#byKey.set(key, { ms: this.#readMs(key, atMs) + ms, atMs, longAtMs: isLong ? atMs : longAtMs })
    }
  }

  /** Returns the time of the key that has used most. */
  maxMs(keys: readonly string[]): number {
    const nowMs = performance.now()
    return Math.max(...keys.map((key) => this.#readMs(key, nowMs)))
  }

  /** Returns true if one of the keys has had a long computation. */
  hasLong(keys: readonly string[]): boolean {
    const sinceMs = performance.now() - LONG_MS_MAX
    return keys.some((key) => (this.#byKey.peek(key)?.longAtMs ?? Number.NEGATIVE_INFINITY) > sinceMs)
  }

  #readMs(key: string, nowMs: number): number {
    const { ms, atMs } = this.#byKey.peek(key) ?? { ms: 0, atMs: nowMs }
    return ms * 2 ** ((atMs - nowMs) / HALF_LIFE_MS)
  }
}
