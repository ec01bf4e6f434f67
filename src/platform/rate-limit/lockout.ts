import { createHash } from 'node:crypto'
import { RateLimiterRes } from 'rate-limiter-flexible'
import { MINUTE, SECOND } from '../time.ts'
import { LimiterChain, type Stores } from './limiter-chain.ts'

const FAILURES_MAX = 5
const SECONDS = (15 * MINUTE) / SECOND

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
 * Five wrong passwords for one e-mail from one address lock that pair out. A try is reserved before the password is
 * checked, in one atomic step: fifty guesses at once are five guesses. Unknown e-mails count alike.
 */
export class Lockout {
  readonly #counter: LimiterChain

  constructor(stores: Stores) {
    const rule = { name: 'lockout', points: FAILURES_MAX, seconds: SECONDS }
    // A lock may be lifted on another node, so no node remembers one by itself.
    this.#counter = new LimiterChain({ ...rule, remembersRefusals: false }, stores)
  }

  async reserve(email: string, addressKey: string): Promise<Reservation> {
    const key = keyOf(email, addressKey)
    try {
      const { consumedPoints } = await this.#counter.consume(key)
      return { locked: false, attempt: this.#attempt(key, consumedPoints) }
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      return { locked: true, retryAfterSeconds: Math.max(1, Math.ceil(refusal.msBeforeNext / SECOND)) }
    }
  }

  #attempt(key: string, consumed: number): Attempt {
    return {
      succeed: () => this.#counter.forget(key),
      fail: async () => {
        if (consumed >= FAILURES_MAX) await this.#counter.block(key, SECONDS)
      },
      release: async () => {
        await this.#counter.reward(key)
      },
    }
  }
}

function keyOf(email: string, addressKey: string): string {
  const plain = email.trim().toLowerCase().normalize('NFKC')
  return createHash('sha256').update(`${plain}\0${addressKey}`).digest('base64url')
}
