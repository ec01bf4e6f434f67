import { LimitExceededError } from '../../platform/errors.ts'
import type { Admission } from '../load/admission.ts'

/** Open subscriptions of a user or API key. */
export const SUBSCRIPTIONS_PER_USER_MAX = 50

const RETRY_AFTER_SECONDS = 10

/**
 * Takes the slot of a subscription and returns the function that frees it.
 * @throws LimitExceededError `too_many_subscriptions`
 */
export function takeSubscription(
  admission: Admission,
  { callerId, network }: { callerId: string; network: string },
): () => void {
  const user = { key: `user:${callerId}`, max: SUBSCRIPTIONS_PER_USER_MAX }
  const slot = admission.take('subscriptions', network, [user, { key: `network:${network}` }])
  if (typeof slot === 'function') return slot
  const message =
    slot === user
      ? 'You have too many open subscriptions. Close one, then try again'
      : 'Your network has too many open subscriptions for the number that is free. Close one, or try again later'
  throw new LimitExceededError('too_many_subscriptions', message, RETRY_AFTER_SECONDS)
}
