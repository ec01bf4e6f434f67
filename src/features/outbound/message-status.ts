import type { MessageStatus } from '../../models/messaging.ts'
import type { Event, MessageEventType } from '../../scope/event-types.ts'

type StatusChange = { from: readonly MessageStatus[]; to: MessageStatus }

/**
 * State machine of an outbound message: every change of its status, with the function that makes it. `queueMessages`
 * creates it as `queued` and puts it into the outbox, `scheduleMessages` as `scheduled`.
 *
 *   scheduled → queued                                       its time has come
 *   scheduled → canceled                                     somebody canceled it
 *   queued → sending → sent → delivered → read → played      as the provider reports
 *            sending → queued                                after a temporary error
 *   queued, sending → failed                                 refused, window closed, or delivery unknown
 *   queued → canceled                                        the run that queued it was canceled
 *   sent → failed                                            the provider reports a failure and no delivery
 *   any status → sent, delivered, read, played               the provider reports it, of any attempt
 *
 * A message is in the outbox if and only if it is `queued` or `sending`, and only a `queued` one is claimed. A provider
 * may return an error and deliver the message all the same. Its report then takes the message out of the outbox, so that
 * it is not sent again; the outcome of an attempt that is in progress meanwhile changes nothing.
 */
export const STATUS_CHANGES = {
  /** `releaseScheduledMessages`: the time of the message has come. */
  release: { from: ['scheduled'], to: 'queued' },
  /** `cancelMessage`: somebody cancels the message before its time. */
  cancelScheduled: { from: ['scheduled'], to: 'canceled' },
  /** `claimMessages`: a worker claims the message in order to send it. */
  claim: { from: ['queued'], to: 'sending' },
  /** `settleMessages`: the provider did not accept the message, but may accept it later. */
  postpone: { from: ['sending'], to: 'queued' },
  /** `settleMessages`: the provider accepted the message. This also resolves `delivery_unknown`. */
  accept: { from: ['queued', 'sending', 'failed'], to: 'sent' },
  /** `settleMessages` on the sandbox, which delivers immediately. */
  deliver: { from: ['queued', 'sending', 'failed'], to: 'delivered' },
  /** `failMessages`: the provider refused the message, its window closed, or its delivery is unknown. */
  fail: { from: ['queued', 'sending'], to: 'failed' },
  /** `promoteStatuses`: the provider reports a failure. It ends no message that is still to be sent, or sent again. */
  reportFailure: { from: ['sent', 'failed'], to: 'failed' },
  /** `cancelQueuedMessages`: the run that queued the message was canceled. */
  cancel: { from: ['queued'], to: 'canceled' },
} as const satisfies Record<string, StatusChange>

type ChangeName = keyof typeof STATUS_CHANGES

/** Statuses that a provider reports of one attempt, by rank: reports may arrive in any order, and the highest counts. */
const PROVIDER_RANKS = ['sent', 'failed', 'delivered', 'read', 'played'] as const satisfies MessageStatus[]

export type ReportedStatus = (typeof PROVIDER_RANKS)[number]

const FAILED_RANK = PROVIDER_RANKS.indexOf('failed') + 1

export type MessageRef = {
  messageId: string
  conversationId: string
  contactId: string
  /** Recipient of a broadcast. */
  recipientId?: string | null
}

/** SQL assignment of the status that `change` leads to. */
export function statusSql(change: ChangeName): string {
  return `status = '${STATUS_CHANGES[change].to}'`
}

/** Returns true if `change` is allowed for a message of this status. */
export function allows(change: ChangeName, status: MessageStatus): boolean {
  return STATUS_CHANGES[change].from.some((from) => from === status)
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

/** SQL rank of the most successful of several attempts, whose ranks are in `column`; null if all of them failed. */
export function successRankSql(column: string): string {
  return `max(nullif(${column}, ${FAILED_RANK}))`
}

/**
 * SQL status of the message `m` after reports. `successRank` is the rank of the most successful attempt, and `isFailed`
 * the condition that the attempt that counts has failed. A reported delivery is final.
 */
export function promotedSql({ successRank, isFailed }: { successRank: string; isFailed: string }): string {
  const current = rankSql('m.status')
  return `coalesce((${RANKS_SQL})[greatest(${successRank},
    case when ${current} > ${FAILED_RANK} then ${current} end,
    case when ${successRank} is null and ${isFailed} and ${allowsSql('reportFailure')} then ${FAILED_RANK} end)], m.status)`
}

/** Error code of a message that may or may not have reached the provider. */
export const DELIVERY_UNKNOWN = 'delivery_unknown'

/** Builds the event of a message from its ids. */
export function messageEvent(type: MessageEventType, { messageId, conversationId, contactId }: MessageRef): Event {
  return { type, data: { messageId, conversationId, contactId } }
}
