import { createHash } from 'node:crypto'
import { widerNetwork } from '../client-address.ts'
import { type Clock, MINUTE, SECOND } from '../time.ts'
import { type Attempts, BUDGET_PREFIX, type Reserved, type Span } from './attempts.ts'

const LOCK_MS = 15 * MINUTE
const PAIR_MAX = 5
/** Failures of a whole IPv6 network, by its prefix length: the holder of a /56 or /48 has all of its /64 networks. */
const NETWORKS = [
  { bits: 56, max: 20 },
  { bits: 48, max: 60 },
]

/** A sign-in attempt that is allowed to proceed. Exactly one of `succeed`, `fail` and `release` ends it. */
export type Attempt = {
  /** Clears the failures of the address so far, and does not count the attempt elsewhere. */
  succeed(): Promise<void>
  /** Counts a failure. The fifth one of an address locks for fifteen minutes from now. */
  fail(): Promise<void>
  /** Ends an attempt that failed for another reason, without counting it. */
  release(): Promise<void>
}

export type Reservation = { locked: false; attempt: Attempt } | { locked: true; retryAfterSeconds: number }

/** An attempt to sign in. A known address is one from which the account was signed in before. */
export type Guess = { email: string; addressKey: string; isKnownAddress: boolean }

/** A counter of attempts. `max` is undefined for the slow budget of an account. */
type Counter = { key: string; max: number | undefined }

/**
 * Limits wrong passwords: five per pair of e-mail and address within fifteen minutes, some more per IPv6 network, and a
 * slow budget per account over all addresses. The last two do not apply to known addresses of the account, so that
 * attackers cannot shut out its owner. An attempt is reserved atomically before the password is checked, so fifty
 * concurrent guesses are five guesses. Unknown e-mails count alike. No process caches a lock, as another may lift it.
 */
export class Lockout {
  readonly #attempts: Attempts
  readonly #clock: Clock

  constructor(attempts: Attempts, clock: Clock) {
    this.#attempts = attempts
    this.#clock = clock
  }

  async reserve(guess: Guess): Promise<Reservation> {
    const now = this.#clock.now().getTime()
    const reserved: Counter[] = []
    for (const counter of listCounters(guess)) {
      const { isReserved, endsAt } = await this.#reserve(counter, now)
      if (!isReserved) {
        await this.#release(reserved)
        return { locked: true, retryAfterSeconds: Math.max(1, Math.ceil((endsAt - now) / SECOND)) }
      }
      reserved.push(counter)
    }
    return { locked: false, attempt: this.#attempt(guess, reserved) }
  }

  /** Gives an account its budget back, after its owner has proved to be the owner. */
  async restore(email: string): Promise<void> {
    await this.#attempts.clear(budgetKey(email))
  }

  #attempt(guess: Guess, reserved: Counter[]): Attempt {
    const key = pairKey(guess)
    const others = reserved.filter((counter) => counter.key !== key)
    return {
      succeed: async () => {
        await this.#attempts.clear(key)
        await this.#release(others)
      },
      fail: () => this.#attempts.lock(key, this.#span(PAIR_MAX)),
      release: () => this.#release(reserved),
    }
  }

  #reserve({ key, max }: Counter, now: number): Promise<Reserved> {
    return max === undefined ? this.#attempts.reserveDelayed(key, now) : this.#attempts.reserve(key, this.#span(max))
  }

  async #release(counters: Counter[]): Promise<void> {
    for (const { key } of counters) await this.#attempts.release(key)
  }

  #span(max: number): Span {
    const now = this.#clock.now().getTime()
    return { now, ends: now + LOCK_MS, max }
  }
}

function listCounters(guess: Guess): Counter[] {
  const pair = { key: pairKey(guess), max: PAIR_MAX }
  if (guess.isKnownAddress) return [pair]
  const networks = NETWORKS.flatMap(({ bits, max }) => {
    const network = widerNetwork(guess.addressKey, bits)
    return network === undefined ? [] : [{ key: `lockout:${network}`, max }]
  })
  return [pair, ...networks, { key: budgetKey(guess.email), max: undefined }]
}

function pairKey({ email, addressKey }: Guess): string {
  return `lockout:${hashText(`${normalize(email)}\0${addressKey}`)}`
}

function budgetKey(email: string): string {
  return `${BUDGET_PREFIX}${hashText(normalize(email))}`
}

function normalize(email: string): string {
  return email.trim().toLowerCase().normalize('NFKC')
}

function hashText(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
