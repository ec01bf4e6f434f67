import type { RecipientStatus } from '../../models/broadcasts.ts'
import { type SqlFragment, sqlText } from '../../platform/database/statements/statement.ts'

type StatusChange = { from: readonly RecipientStatus[]; to: RecipientStatus }

/**
 * State machine of a recipient: every change of its status that does not follow from one of its message, with the function
 * that makes it. A snapshot creates it as `pending`, or as `skipped` with the reason.
 *
 *   pending → sending                  its message is queued
 *   pending → skipped, canceled        it may not be sent the message any more, or nobody may
 *   pending → unknown                  the database was restored to a time before its message
 *   sending → pending, canceled        its message is withdrawn before a worker claims it
 *   sending → sent → delivered → read  as its message, and so to `failed`, `unknown` and `skipped` (`syncRecipients`)
 *   failed, unknown → pending          it is retried
 *   sending → skipped, unknown         its contact is deleted
 *
 * A recipient has a message of its own while it is `sending`, and afterwards.
 */
const STATUS_CHANGES = {
  /** `startSending`: the message of the next attempt is queued. */
  start: { from: ['pending'], to: 'sending' },
  /** `skipRecipients`: the contact may not be sent the message any more. */
  skip: { from: ['pending'], to: 'skipped' },
  /** `cancelPending`: the broadcast is canceled. */
  cancel: { from: ['pending'], to: 'canceled' },
  /** `doubtRecipients`: the message may have been sent after the time to which the database was restored. */
  doubt: { from: ['pending'], to: 'unknown' },
  /** `withdrawQueued`: the broadcast is paused. */
  withdraw: { from: ['sending'], to: 'pending' },
  /** `withdrawQueued`: the broadcast is canceled. */
  withdrawFinally: { from: ['sending'], to: 'canceled' },
  /** `retryRecipients`: a member sends the broadcast again to those who failed. */
  retry: { from: ['failed'], to: 'pending' },
  /** `retryRecipients`: a member says that the message in doubt was not accepted. */
  retryDoubted: { from: ['unknown'], to: 'pending' },
  /** `eraseRecipients`: the contact is deleted before its message is queued. */
  erasePending: { from: ['pending'], to: 'skipped' },
  /** `eraseRecipients`: the contact is deleted before a worker has claimed its message. */
  eraseWithdrawn: { from: ['sending'], to: 'skipped' },
  /** `eraseRecipients`: the contact is deleted, and its message may have been sent. */
  eraseSending: { from: ['sending'], to: 'unknown' },
} as const satisfies Record<string, StatusChange>

type ChangeName = keyof typeof STATUS_CHANGES

/** SQL status of a recipient that `change` leads to. */
export function recipientStatusSql(change: ChangeName): SqlFragment {
  return sqlText(`'${STATUS_CHANGES[change].to}'`)
}

/** SQL condition that `change` is allowed for the recipient `r`. */
export function allowsRecipientSql(change: ChangeName): SqlFragment {
  return sqlText(`r.status in (${STATUS_CHANGES[change].from.map((status) => `'${status}'`).join(', ')})`)
}
