import { UnprocessableError } from '../../platform/errors.ts'

/** Builds the error of a request that a blocked contact rules out. `consequence` says what blocking prevents. */
export function contactBlockedError(consequence: 'starts no runs' | 'receives no messages'): UnprocessableError {
  return new UnprocessableError(
    'contact_blocked',
    `The contact is blocked and ${consequence}. Unblock the contact first: set its field blocked to false`,
  )
}
