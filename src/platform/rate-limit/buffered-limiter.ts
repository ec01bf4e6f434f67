import { LRUCache } from 'lru-cache'
import { SECOND } from '../time.ts'
import type { Consumption, Rule } from './limiter.ts'
import type { SharedCounts, StoredCount } from './shared-counts.ts'

export type Buffering = {
  /**
   * Points of a key that a process may consume before it has stored them: the number by which each process can exceed the
   * limit of a window, as long as a store answers.
   */
  unstoredMax: number
  flushEveryMs: number
}

/** Keys without unstored points beyond this number are forgotten, and read from the store again. */
const KEYS_MAX = 50_000

type Counter = {
  /** The points of all processes, as of the last answer of the store. */
  stored: number
  /** Points of this process that are on their way to the store. */
  sending: number
  /** Points of this process that are sent next. */
  pending: number
  endsAtMs: number
}

/**
 * A limit whose points are consumed in memory and stored for many keys at once. It knows of the points of other processes
 * from the answer to the last flush. While no store answers, each process counts for itself.
 */
export class BufferedLimiter {
  readonly #rule: Rule
  readonly #buffering: Buffering
  readonly #shared: SharedCounts
  readonly #counters = new LRUCache<string, Counter>({ max: KEYS_MAX })
  #unsent = new Map<string, Counter>()
  #flushed: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(rule: Rule, buffering: Buffering, shared: SharedCounts) {
    this.#rule = rule
    this.#buffering = buffering
    this.#shared = shared
  }

  /**
   * Reads what was stored before this process started, so that its first answers count it. It never fails: what cannot be
   * read is known after the first flush.
   */
  async load(): Promise<void> {
    const nowMs = performance.now()
    for (const { key, points, msBeforeNext } of await this.#shared.list(KEYS_MAX).catch((): StoredCount[] => []))
      this.#counters.set(key, { stored: points, sending: 0, pending: 0, endsAtMs: nowMs + msBeforeNext })
  }

  /** `limit` is that of the key, if it has one of its own. */
  async consume(key: string, points: number, limit = this.#rule.points): Promise<Consumption> {
    const { unstoredMax, flushEveryMs } = this.#buffering
    for (;;) {
      const counter = this.#findCounter(key)
      const unstored = counter.sending + counter.pending
      const remaining = limit - counter.stored - unstored - points
      const msBeforeNext = counter.endsAtMs - performance.now()
      if (remaining < 0) return { allowed: false, remaining: 0, msBeforeNext }
      if (unstored === 0 || unstored + points <= unstoredMax) {
        counter.pending += points
        this.#unsent.set(key, counter)
        if (unstored + points <= unstoredMax) {
          this.#timer ??= setTimeout(() => void this.flush(), flushEveryMs)
          return { allowed: true, remaining, msBeforeNext }
        }
      }
      await this.flush()
      if (unstored === 0) return toConsumption(counter, limit)
    }
  }

  /** Stores what was consumed. It never fails: what no store takes is counted in this process. */
  async flush(): Promise<void> {
    // The flush in progress may have begun before the latest points.
    await this.#flushed
    this.#flushed ??= this.#send().finally(() => (this.#flushed = undefined))
    await this.#flushed
  }

  #findCounter(key: string): Counter {
    const existing = this.#unsent.get(key) ?? this.#counters.get(key)
    const nowMs = performance.now()
    if (existing && existing.endsAtMs > nowMs) return existing
    const counter = { stored: 0, sending: 0, pending: 0, endsAtMs: nowMs + this.#rule.seconds * SECOND }
    this.#counters.set(key, counter)
    return counter
  }

  async #send(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const counters = this.#unsent
    if (counters.size === 0) return
    this.#unsent = new Map()
    const increments = [...counters].map(([key, counter]) => {
      counter.sending = counter.pending
      counter.pending = 0
      return { key, points: counter.sending }
    })
    const results = await this.#shared.add(increments).catch((): StoredCount[] => [])
    const nowMs = performance.now()
    const byKey = new Map(results.map((result) => [result.key, result]))
    for (const [key, counter] of counters) {
      const result = byKey.get(key)
      counter.stored = Math.max(counter.stored + counter.sending, result?.points ?? 0)
      counter.sending = 0
      if (result) counter.endsAtMs = nowMs + result.msBeforeNext
    }
  }
}

/** Returns the result of points that were stored before they were admitted. */
function toConsumption({ stored, endsAtMs }: Counter, limit: number): Consumption {
  return {
    allowed: stored <= limit,
    remaining: Math.max(0, limit - stored),
    msBeforeNext: endsAtMs - performance.now(),
  }
}
