import { UnavailableError } from '../errors.ts'

type Options = {
  /** Slots in all. */
  width: number
  /** Slots that one key may hold, by default all. */
  widthPerKey?: number
  /** The longest wait for a slot, by default without a limit. */
  waitMaxMs?: number
  /** Waiters of one key, by default any number. Further ones are rejected at once, rather than after a long wait. */
  waitersPerKeyMax?: number
}

type Waiter = () => void

/**
 * Slots for the work of many keys. Each key holds a bounded number of them, and keys that wait are served round-robin.
 * Work of no key (`null`) is bounded by the total only.
 */
export class FairSemaphore {
  readonly #options: Options
  readonly #taken = new Map<string | null, number>()
  /** Waiters by key, the keys in the order of their turns. */
  readonly #waiting = new Map<string | null, Set<Waiter>>()
  #total = 0

  constructor(options: Options) {
    this.#options = options
  }

  /** Does work in a slot. @throws as `acquire` */
  async run<T>(key: string | null, work: () => Promise<T>): Promise<T> {
    await this.acquire(key)
    try {
      return await work()
    } finally {
      this.release(key)
    }
  }

  /**
   * Takes a slot, which `release` gives back.
   * @throws UnavailableError when none becomes free in time, too many are waiting, or `signal` aborts before
   */
  async acquire(key: string | null, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) throw abortedError()
    if (this.#hasSlot(key)) this.#take(key)
    else await this.#wait(key, signal)
  }

  countWaiting(): number {
    return [...this.#waiting.values()].reduce((count, { size }) => count + size, 0)
  }

  release(key: string | null): void {
    this.#total -= 1
    const taken = (this.#taken.get(key) ?? 0) - 1
    if (taken > 0) this.#taken.set(key, taken)
    else this.#taken.delete(key)
    this.#admitNext()
  }

  #hasSlot(key: string | null): boolean {
    const { width, widthPerKey = width } = this.#options
    return this.#total < width && (key === null || (this.#taken.get(key) ?? 0) < widthPerKey)
  }

  #take(key: string | null): void {
    this.#total += 1
    this.#taken.set(key, (this.#taken.get(key) ?? 0) + 1)
  }

  #wait(key: string | null, signal: AbortSignal | undefined): Promise<void> {
    const { waitMaxMs, waitersPerKeyMax = Infinity } = this.#options
    const waiters = this.#waiting.get(key) ?? new Set()
    if (waiters.size >= waitersPerKeyMax) return Promise.reject(tooManyError())
    this.#waiting.set(key, waiters)
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        waiters.delete(admit)
        if (waiters.size === 0) this.#waiting.delete(key)
      }
      const admit = () => {
        leave()
        this.#take(key)
        resolve()
      }
      const abort = () => {
        leave()
        reject(abortedError())
      }
      const expire = () => {
        leave()
        reject(busyError())
      }
      const timer = waitMaxMs === undefined ? undefined : setTimeout(expire, waitMaxMs)
      signal?.addEventListener('abort', abort, { once: true })
      waiters.add(admit)
    })
  }

  #admitNext(): void {
    for (const [key, waiters] of this.#waiting) {
      const [admit] = waiters
      if (!admit || !this.#hasSlot(key)) continue
      // The next turn of this key comes after those of the others.
      this.#waiting.delete(key)
      if (waiters.size > 1) this.#waiting.set(key, waiters)
      admit()
      return
    }
  }
}

const RETRY_AFTER_SECONDS = 2

function tooManyError(): UnavailableError {
  return new UnavailableError('Too many requests of this kind are in progress. Try again in a moment', 1)
}

function busyError(): UnavailableError {
  return new UnavailableError('Too many requests are in progress. Try again in a few seconds', RETRY_AFTER_SECONDS)
}

function abortedError(): UnavailableError {
  return new UnavailableError('The request was canceled because its client disconnected', RETRY_AFTER_SECONDS)
}
