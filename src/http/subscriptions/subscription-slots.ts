import { SharedSlots } from '../../platform/concurrency/shared-slots.ts'
import { LimitExceededError } from '../../platform/errors.ts'

export const SUBSCRIPTIONS_PER_USER_MAX = 50

const SUBSCRIPTIONS_MAX = 2_500
/** The part of the free ones that one client network may have: it gets 500 while there are no others. */
const PART = 0.25
const RETRY_AFTER_SECONDS = 10

/** Counts the open subscriptions of a process, each of which costs memory, and time for every event. */
export class SubscriptionSlots {
  readonly #slots = new SharedSlots({ width: SUBSCRIPTIONS_MAX, part: PART })

  /**
   * Takes a slot and returns the function that frees it, which may be called more than once.
   * @throws LimitExceededError `too_many_subscriptions`
   */
  take({ userId, network }: { userId: string; network: string }): () => void {
    const user = { key: `user:${userId}`, max: SUBSCRIPTIONS_PER_USER_MAX }
    const shares = [user, { key: `network:${network}` }]
    const exhausted = this.#slots.findExhausted(shares)
    if (exhausted === undefined) return this.#slots.take(shares)
    const message =
      exhausted === user
        ? 'You have too many open subscriptions. Close one, then try again'
        : 'Your network has too many open subscriptions for the number that is free. Close one, or try again later'
    throw new LimitExceededError('too_many_subscriptions', message, RETRY_AFTER_SECONDS)
  }
}
