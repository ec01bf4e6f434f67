import type { MessageStatus } from '../../models/messaging/message.ts'

type StatusChange = { from: readonly MessageStatus[]; to: MessageStatus }

/**
 * State machine of an outbound message: every change of its status, with the function that makes it. `queueMessages`
 * creates it as `queued` and puts it into the outbox.
 *
 *   queued → sending → sent → delivered → read → played      as the provider reports
 *            sending → queued                                after a temporary error
 *   queued, sending → failed                                 refused, window closed, or delivery unknown
 *   queued → canceled                                        the run that queued it was canceled
 *
 * The outbox decides what is sent: a message leaves it when it is accepted, failed or canceled. A message that is still
 * in the outbox may be claimed or canceled in any status, since the provider may have reported an earlier attempt.
 */
export const STATUS_CHANGES = {
  /** `claimMessages`: a worker claims the message in order to send it. */
  claim: { from: ['queued', 'sent', 'failed', 'delivered', 'read', 'played'], to: 'sending' },
  /** `settleMessages`: the provider did not accept the message, but may accept it later. */
  postpone: { from: ['sending'], to: 'queued' },
  /** `settleMessages`: the provider accepted the message. This also resolves `delivery_unknown`. */
  accept: { from: ['queued', 'sending'], to: 'sent' },
  /** `settleMessages` on the sandbox, which delivers immediately. */
  deliver: { from: ['queued', 'sending'], to: 'delivered' },
  /** `failMessages`: the provider refused the message, its window closed, or its delivery is unknown. */
  fail: { from: ['queued', 'sending'], to: 'failed' },
  /** `cancelQueuedMessages`: the run that queued the message was canceled. */
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
export const DELIVERY_UNKNOWN = 'delivery_unknown'

/** SQL condition that the delivery of the failed message `m` is unknown. A later status or response resolves it. */
export const IS_DELIVERY_UNKNOWN_SQL = `m.error ->> 'code' = '${DELIVERY_UNKNOWN}'`
