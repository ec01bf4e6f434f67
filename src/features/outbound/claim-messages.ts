import type { OutboundMessage } from '../../channels/channel.ts'
import type { TemplateCategory } from '../../models/messaging.ts'
import type { OutboundContent } from '../../message-content/content.ts'
import { MINUTE } from '../../platform/time.ts'
import { takeAddresses } from '../broadcast-recipients/take-addresses.ts'
import { isOpenSql } from '../../scope/deleted-workspaces.ts'
import type { Span } from '../../platform/tracing/span.ts'
import type { Scope } from '../../scope/scope.ts'
import { findSendObstacle, type Recipient, type SendObstacle } from '../../channels/send-obstacle.ts'
import { maySendSql } from '../channels/load-channel.ts'
import { isWindowOpen } from '../conversations/service-window.ts'
import { allowsSql, type MessageRef, statusSql } from './message-status.ts'
import { sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'

/** The delivery of a message that was claimed this long ago and is not settled is unknown. */
export const CLAIM_MS = 2 * MINUTE

export type ClaimedMessage = OutboundMessage &
  MessageRef & {
    attempt: number
    /** Time of the claim, which tells it from one of another process for the same attempt. */
    leasedAt: Date
    /** Time of the last message of the customer, if a workflow sends this one. */
    answers: Date | null
    /** True if the service window closed while the message, which needs an open one, was queued. It must not be sent. */
    isOutsideWindow: boolean
    /** Reason why the contact may not be sent the message any more, such as a block after it was queued. */
    obstacle: SendObstacle | null
    /** The run that sends the message; null for others. */
    runId: string | null
    /** The span of the claim, if the trace of the message is sampled. */
    span: Span | undefined
  }

/** Messages whose claim is committed, and the end of the claim. The signal ends uploads, but no send. */
export type Delivery = { claimed: ClaimedMessage[]; claimedUntil: Date; signal?: AbortSignal | undefined }

type Row = MessageRef &
  Required<Recipient> & {
    attempt: number
    body: string | null
    content: OutboundContent | null
    replyToId: string | null
    phone: string | null
    /** The oldest identity of each kind that the contact has on the channel. */
    identities: { phone?: string; bsuid?: string } | null
    windowExpiresAt: Date | null
    lastInboundAt: Date | null
    category: TemplateCategory | null
    senderType: string
    runId: string | null
    traceparent: string | null
  }

/** A claimed message with what is looked up for few messages only. */
type FoundRow = Row & {
  userId: string | null
  replyToProviderId: string | null
  /** Address of the contact when a broadcast queued the message. */
  broadcastAddress: string | null
}

/** Senders of messages that nobody writes by hand. */
const AUTOMATED: ReadonlySet<string> = new Set(['workflow', 'broadcast', 'key'])

/** The messages to claim: at most so many of a channel and, if their IDs are given, no others. */
export type ClaimRequest = { channelId: string; limit: number; messageIds?: string[] }

/**
 * Claims due messages of a channel that is connected and not paused, unless the workspace was deleted, at most the oldest of each conversation. The next
 * one is claimed after that one is settled, so a customer receives messages in order. Messages that another process claims
 * or postpones first, while this one waits for a lock, are skipped: only a queued message is unclaimed, and the time is
 * compared again. The statement forces index lookups per row (`offset 0` keeps the planner from turning the subquery into a
 * join), because the table alternates between full and empty and the planner's statistics are always outdated.
 */
export async function claimMessages(
  tx: Scope,
  { channelId, limit, messageIds }: ClaimRequest,
): Promise<ClaimedMessage[]> {
  const now = tx.now()
  const startedAt = performance.now()
  const isRequested = messageIds ? sqlFragment`and o.message_id = any(${messageIds})` : sqlFragment``
  const rows = await tx.sql<Row>('claimMessages')`
    with due as (
       select o.conversation_id, o.message_id from outbox o
       where o.tenant_id = ${tx.tenantId} and o.channel_id = ${channelId} and o.leased_at is null and o.not_before <= ${now}
         and ${isOpenSql(tx.tenantId)}
         and not exists (select from outbox e where e.tenant_id = ${tx.tenantId} and e.conversation_id = o.conversation_id
           and e.message_id < o.message_id offset 0) ${isRequested}
         and exists (select from channels ch where ch.tenant_id = ${tx.tenantId} and ch.id = ${channelId} and ${maySendSql(now)})
       order by o.priority, o.message_id limit ${limit}),
     locked as (
       select m.id, due.conversation_id from due join messages m on m.tenant_id = ${tx.tenantId} and m.id = due.message_id
       where ${sqlText(allowsSql('claim'))} order by m.id for no key update of m),
     claimed as (
       update outbox o set leased_at = ${now}, attempts = attempts + 1 from locked
       where o.tenant_id = ${tx.tenantId} and o.conversation_id = locked.conversation_id and o.message_id = locked.id
         and o.not_before <= ${now}
       returning o.message_id, o.attempts, o.traceparent)
     update messages m set ${sqlText(statusSql('claim'))}, updated_at = ${now}
     from claimed, conversations cv, contacts c
     where m.tenant_id = ${tx.tenantId} and m.id = claimed.message_id and ${sqlText(allowsSql('claim'))}
       and cv.tenant_id = ${tx.tenantId} and cv.id = m.conversation_id and c.tenant_id = ${tx.tenantId} and c.id = m.contact_id
     returning m.id as message_id, claimed.attempts as attempt, claimed.traceparent, m.run_id,
       m.conversation_id, m.contact_id, m.recipient_id, m.body, m.content, m.reply_to_id,
       cv.window_expires_at, cv.last_inbound_at, m.category, m.sender ->> 'type' as sender_type, c.blocked, c.marketing_consent, c.service_consent,
       c.phone, (select jsonb_object_agg(i.kind, i.value order by i.created_at desc, i.id desc) from contact_identities i
         where i.tenant_id = ${tx.tenantId} and i.contact_id = m.contact_id and i.channel_id = m.channel_id) as identities`
  const [replied, addresses] = await Promise.all([findReplied(tx, rows), findBroadcastAddresses(tx, rows)])
  const found = rows.map((row) => ({
    ...row,
    phone: row.identities?.phone ?? row.phone,
    userId: row.identities?.bsuid ?? null,
    replyToProviderId: replied.get(row.replyToId ?? '') ?? null,
    broadcastAddress: addresses.get(row.recipientId ?? '') ?? null,
  }))
  const moved = await findMoved(tx, found)
  // The statement returns them in any order.
  const repliesFirst = found.toSorted((a, b) => Number(a.recipientId !== null) - Number(b.recipientId !== null))
  return repliesFirst.map((row) => ({
    ...toClaimed(row, { hasMoved: moved.has(row.messageId), now }),
    span: recordClaim(tx, row, startedAt),
  }))
}

function recordClaim(tx: Scope, { traceparent, ...row }: Row, startedAt: number): Span | undefined {
  if (traceparent === null) return undefined
  const attributes = { 'parley.tenant_id': tx.tenantId, 'parley.message_id': row.messageId, 'parley.run_id': row.runId }
  const span = tx.tracing?.resume(traceparent, 'outbox.claim', attributes, startedAt)
  span?.end()
  return span
}

function toClaimed(row: FoundRow, { hasMoved, now }: { hasMoved: boolean; now: Date }): Omit<ClaimedMessage, 'span'> {
  const { messageId, conversationId, contactId, recipientId, attempt, content, replyToProviderId, runId } = row
  const { body, category, senderType, phone, userId, broadcastAddress, windowExpiresAt, lastInboundAt } = row
  return {
    messageId,
    conversationId,
    contactId,
    recipientId: recipientId ?? null,
    runId,
    attempt,
    leasedAt: now,
    body: body ?? '',
    content,
    replyToProviderId,
    to: hasMoved ? toAddress(broadcastAddress) : { phone, userId },
    obstacle: findSendObstacle(row, category, { isAutomated: AUTOMATED.has(senderType) }),
    answers: senderType === 'workflow' ? lastInboundAt : null,
    isOutsideWindow: category === null && !isWindowOpen(windowExpiresAt, now),
  }
}

/** Returns the provider's IDs of the messages that are answered, by their IDs. */
async function findReplied(tx: Scope, rows: Row[]): Promise<Map<string, string | null>> {
  const ids = rows.flatMap(({ replyToId }) => replyToId ?? [])
  if (ids.length === 0) return new Map()
  const replied = await tx.sql<{ id: string; providerMessageId: string | null }>('findReplied')`
    select id, provider_message_id from messages where tenant_id = ${tx.tenantId} and id = any(${ids})`
  return new Map(replied.map(({ id, providerMessageId }) => [id, providerMessageId]))
}

/** Returns the addresses for which broadcasts queued messages, or to which they have moved since, by their recipients. */
async function findBroadcastAddresses(tx: Scope, rows: Row[]): Promise<Map<string, string | null>> {
  const ids = rows.flatMap(({ recipientId }) => recipientId ?? [])
  if (ids.length === 0) return new Map()
  const recipients = await tx.sql<{ id: string; address: string | null }>('findBroadcastAddresses')`
    select id, coalesce(sent_to, address) as address from broadcast_recipients
    where tenant_id = ${tx.tenantId} and id = any(${ids})`
  return new Map(recipients.map(({ id, address }) => [id, address]))
}

/**
 * Returns the IDs of the messages of broadcasts that must go to the address for which they were queued: the contact has
 * taken over another one since, at which another recipient was sent the message.
 */
async function findMoved(tx: Scope, rows: FoundRow[]): Promise<Set<string>> {
  const moved = rows.flatMap(({ messageId, recipientId, broadcastAddress, phone, userId }) => {
    const address = phone ?? userId
    if (!recipientId || broadcastAddress === null || address === null || address === broadcastAddress) return []
    return [{ messageId, id: recipientId, address }]
  })
  const free = await takeAddresses(
    tx,
    moved.map(({ id, address }) => ({ id, address })),
  )
  return new Set(moved.flatMap(({ messageId, id }) => (free.has(id) ? [] : [messageId])))
}

/** Tells a phone number from an ID of the provider. */
function toAddress(address: string | null): Pick<FoundRow, 'phone' | 'userId'> {
  return address?.startsWith('+') ? { phone: address, userId: null } : { phone: null, userId: address }
}
