import { createHash } from 'node:crypto'
import { type Clock, MINUTE, SECOND } from '../time.ts'
import { firstAnswer } from './first-answer.ts'
import type { Stores } from './limiter-chain.ts'
import {
  MemoryAttemptStore,
  PostgresAttemptStore,
  RedisAttemptStore,
  type Span,
  type AttemptStore,
} from './attempt-store.ts'

const LOCK_MS = 15 * MINUTE

/** A sign-in attempt that is allowed to proceed. Exactly one of `succeed`, `fail` and `release` ends it. */
export type Attempt = {
  /** Clears the failures so far. */
  succeed(): Promise<void>
  /** Counts a failure. The fifth one locks for fifteen minutes from now. */
  fail(): Promise<void>
  /** Ends an attempt that failed for another reason, without counting it. */
  release(): Promise<void>
}

export type Reservation = { locked: false; attempt: Attempt } | { locked: true; retryAfterSeconds: number }

/**
 * Locks a pair of e-mail and IP address after five wrong passwords within fifteen minutes. An attempt is reserved
 * atomically before the password is checked, so fifty concurrent guesses are five guesses. Unknown e-mails count alike.
 * No process caches a lock, as another one may lift it.
 */
export class Lockout {
  readonly #clock: Clock
  readonly #stores: StoreCall[]

  constructor({ db, databaseBreaker, redis, breaker }: Stores, clock: Clock) {
    this.#clock = clock
    const inPostgres = new PostgresAttemptStore(db)
    this.#stores = [(call) => databaseBreaker.run(() => call(inPostgres)), storeCall(new MemoryAttemptStore())]
    if (redis) {
      const inRedis = new RedisAttemptStore(redis)
      this.#stores.unshift((call) => breaker.run(() => call(inRedis)))
    }
  }

  async reserve(email: string, addressKey: string): Promise<Reservation> {
    const key = toKey(email, addressKey)
    const span = this.#span()
    const { isReserved, endsAt } = await this.#run((attempts) => attempts.reserve(key, span))
    if (isReserved) return { locked: false, attempt: this.#attempt(key) }
    return { locked: true, retryAfterSeconds: Math.max(1, Math.ceil((endsAt - span.now) / SECOND)) }
  }

  #attempt(key: string): Attempt {
    return {
      succeed: async () => {
        // Clears every store: one that was unreachable may still contain failures.
        await Promise.allSettled(this.#stores.map((callStore) => callStore((attempts) => attempts.clear(key))))
      },
      fail: () => this.#run((attempts) => attempts.lock(key, this.#span())),
      release: () => this.#run((attempts) => attempts.release(key)),
    }
  }

  #span(): Span {
    const now = this.#clock.now().getTime()
    return { now, ends: now + LOCK_MS }
  }

  #run<T>(call: (attempts: AttemptStore) => Promise<T>): Promise<T> {
    return firstAnswer(this.#stores, (callStore) => callStore(call))
  }
}

type StoreCall = <T>(call: (attempts: AttemptStore) => Promise<T>) => Promise<T>

function storeCall(attempts: AttemptStore): StoreCall {
  return (call) => call(attempts)
}

function toKey(email: string, addressKey: string): string {
  const plain = email.trim().toLowerCase().normalize('NFKC')
  return `lockout:${createHash('sha256').update(`${plain}\0${addressKey}`).digest('base64url')}`
}
