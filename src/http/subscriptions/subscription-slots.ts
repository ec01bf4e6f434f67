import { LimitExceededError } from '../../platform/errors.ts'

export type SubscriptionLimits = { perUser: number; perProcess: number }

export const SUBSCRIPTION_LIMITS: SubscriptionLimits = { perUser: 50, perProcess: 2_000 }

const RETRY_AFTER_SECONDS = 10

/** Counts the open subscriptions of a process, each of which costs memory, and time for every event. */
export class SubscriptionSlots {
  readonly #limits: SubscriptionLimits
  readonly #byUser = new Map<string, number>()
  #total = 0

  constructor(limits: SubscriptionLimits) {
    this.#limits = limits
  }

  /**
   * Takes a slot and returns the function that frees it, which may be called more than once.
   * @throws LimitExceededError `too_many_subscriptions`
   */
  take(userId: string): () => void {
    const count = this.#byUser.get(userId) ?? 0
    if (count >= this.#limits.perUser) {
      throw tooManyError(`You have ${count} open subscriptions, which is the limit. Close one, then try again`)
    }
    if (this.#total >= this.#limits.perProcess) {
      throw tooManyError('The server has too many open subscriptions, please try again later')
    }
    this.#add(userId, 1)
    let isTaken = true
    return () => {
      if (isTaken) this.#add(userId, -1)
      isTaken = false
    }
  }

  #add(userId: string, change: 1 | -1): void {
    this.#total += change
    const count = (this.#byUser.get(userId) ?? 0) + change
    if (count > 0) this.#byUser.set(userId, count)
    else this.#byUser.delete(userId)
  }
}

function tooManyError(message: string): LimitExceededError {
  return new LimitExceededError('too_many_subscriptions', message, RETRY_AFTER_SECONDS)
}
