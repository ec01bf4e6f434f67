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

/** A try at signing in that was let through. Exactly one of `succeed`, `fail` and `release` ends it. */
export type Attempt = {
  /** Forgets the failures so far. */
  succeed(): Promise<void>
  /** The fifth failure locks, for fifteen minutes from now. */
  fail(): Promise<void>
  /** Nobody's fault: the try does not count. */
  release(): Promise<void>
}

export type Reservation = { locked: false; attempt: Attempt } | { locked: true; retryAfterSeconds: number }

/**
 * Five wrong passwords within fifteen minutes for one e-mail from one address lock that pair out. A try is reserved
 * before the password is checked, in one atomic step: fifty guesses at once are five guesses. Unknown e-mails count
 * alike. No process remembers a lock by itself, for it may be lifted on another.
 */
export class Lockout {
  readonly #clock: Clock
  readonly #stores: Use[]

  constructor({ db, redis, breaker }: Stores, clock: Clock) {
    this.#clock = clock
    this.#stores = [useOf(new PostgresAttemptStore(db)), useOf(new MemoryAttemptStore())]
    if (redis) {
      const inRedis = new RedisAttemptStore(redis)
      this.#stores.unshift((act) => breaker.run(() => act(inRedis)))
    }
  }

  async reserve(email: string, addressKey: string): Promise<Reservation> {
    const key = keyOf(email, addressKey)
    const span = this.#span()
    const { isTaken, endsAt } = await this.#run((tries) => tries.take(key, span))
    if (isTaken) return { locked: false, attempt: this.#attempt(key) }
    return { locked: true, retryAfterSeconds: Math.max(1, Math.ceil((endsAt - span.now) / SECOND)) }
  }

  #attempt(key: string): Attempt {
    return {
      succeed: async () => {
        // In every store: one that was away may still hold the failures.
        await Promise.allSettled(this.#stores.map((use) => use((tries) => tries.forget(key))))
      },
      fail: () => this.#run((tries) => tries.lock(key, this.#span())),
      release: () => this.#run((tries) => tries.giveBack(key)),
    }
  }

  #span(): Span {
    const now = this.#clock.now().getTime()
    return { now, ends: now + LOCK_MS }
  }

  #run<T>(act: (tries: AttemptStore) => Promise<T>): Promise<T> {
    return firstAnswer(this.#stores, (use) => use(act))
  }
}

type Use = <T>(act: (tries: AttemptStore) => Promise<T>) => Promise<T>

function useOf(tries: AttemptStore): Use {
  return (act) => act(tries)
}

function keyOf(email: string, addressKey: string): string {
  const plain = email.trim().toLowerCase().normalize('NFKC')
  return `lockout:${createHash('sha256').update(`${plain}\0${addressKey}`).digest('base64url')}`
}
