import type { MessageStatus } from '../../models/messaging/message.ts'

type StatusChange = { from: readonly MessageStatus[]; to: MessageStatus }

/**
 * Life of an outbound message: every change of its status, by the function that makes it. `queueMessages` starts it as
 * `queued` and puts it into the outbox.
 *
 *   queued → sending → sent → delivered → read → played      as the provider reports
 *            sending → queued                                after an error that may pass
 *   queued, sending → failed                                 refused, expired, or without an outcome (in doubt)
 *   queued → canceled                                        the run that queued it was canceled
 *
 * The outbox decides what is sent: a message leaves it once it is accepted, failed or canceled. Whatever a provider
 * reported of an earlier attempt, a message that is still in the outbox may be claimed or canceled.
 */
export const STATUS_CHANGES = {
  /** `claimMessages`: a worker takes the message out of the queue in order to send it. */
  claim: { from: ['queued', 'sent', 'failed', 'delivered', 'read', 'played'], to: 'sending' },
  /** `settleMessages`: the provider did not take the message, and may take it later. */
  postpone: { from: ['sending'], to: 'queued' },
  /** `settleMessages`: the provider took the message. One that is in doubt is no longer so. */
  accept: { from: ['queued', 'sending'], to: 'sent' },
  /** `settleMessages` on the sandbox, which delivers immediately. */
  deliver: { from: ['queued', 'sending'], to: 'delivered' },
  /** `failMessages`: the provider refused the message, or its outcome is unknown. */
  fail: { from: ['queued', 'sending'], to: 'failed' },
  /** `cancelQueuedMessages`. */
  cancel: { from: ['queued', 'sent', 'failed', 'delivered', 'read', 'played'], to: 'canceled' },
} as const satisfies Record<string, StatusChange>

type ChangeName = keyof typeof STATUS_CHANGES

/**
 * Statuses that a provider reports, by rank. `promoteStatuses` moves a message to the highest rank reported, so reports
 * may arrive in any order; a failure counts only until a delivery is reported.
 */
const PROVIDER_RANKS = ['sent', 'failed', 'delivered', 'read', 'played'] as const satisfies MessageStatus[]

/** Ranks from here on are final: no report lowers them. */
const FINAL_FROM = PROVIDER_RANKS.indexOf('delivered') + 1

/** SQL assignment of the status that `change` leads to. */
export function statusSql(change: ChangeName): string {
  return `status = '${STATUS_CHANGES[change].to}'`
}

/** SQL condition that `change` is allowed for the message `m`. */
export function allowsSql(change: ChangeName): string {
  return `m.status in (${STATUS_CHANGES[change].from.map((status) => `'${status}'`).join(', ')})`
}

const RANKS_SQL = `array[${PROVIDER_RANKS.map((status) => `'${status}'`).join(', ')}]`

/** SQL rank of the status in `column`, from 1; null for a status that no provider reports. */
export function rankSql(column: string): string {
  return `array_position(${RANKS_SQL}, ${column})`
}

/** SQL status of a message whose current status is in `current`, after reports of which `rank` is the highest rank. */
export function promotedSql(current: string, rank: string): string {
  return `(${RANKS_SQL})[greatest(${rank}, case when ${rankSql(current)} >= ${FINAL_FROM} then ${rankSql(current)} end)]`
}

/** Error code of a message that may or may not have reached the provider. */
export const IN_DOUBT_CODE = 'delivery_unknown'

/** SQL condition that the message `m` failed without a known outcome. A later report or answer settles it. */
export const IN_DOUBT_SQL = `m.error ->> 'code' = '${IN_DOUBT_CODE}'`
