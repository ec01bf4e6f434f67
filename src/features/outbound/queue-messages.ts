import { deriveId, idTimestamp } from '../../engine/model/derive-id.ts'
import { type OutboundContent, toMessageType } from '../../message-content/content.ts'
import type { TemplateCategory } from '../../models/messaging.ts'
import { toRecordset } from '../../platform/database/sql.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import { joinFragments, type SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import { isUuid, newId } from '../../platform/ids.ts'
import { DUE_AT_ONCE, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { deliverJob } from '../automation/jobs.ts'
import { lockContactsToUpdate, lockContactsSql } from '../automation/lock-order.ts'
import { countFirstContacts } from '../broadcast-recipients/messaging-limit.ts'
import { type LastMessage, toLastMessage } from '../conversations/last-message.ts'
import { messageEvent } from './message-status.ts'

export type NewOutbound = {
  id: string
  conversationId: string
  contactId: string
  channelId: string
  /** Null for a file without a caption. */
  body: string | null
  content: OutboundContent | null
  /** Message of the conversation that it answers or reacts to. Any other ID is ignored. */
  replyToId?: string | undefined
  sender: { type: 'user' | 'key' | 'workflow' | 'broadcast' | 'system'; id: string | null; name: string | null }
  runId: string | null
  stepId: string | null
  /** Category of the template. Messages without one are sent inside the service window only. */
  category?: TemplateCategory
  broadcastId?: string
  recipientId?: string
  /** Time that the sender chose for the message. */
  sendAt?: Date
}

/** The provider accepts one message in this time to a contact, and a burst that is paid back by waiting afterwards. */
const PAIR_MS = 6 * SECOND
const PAIR_BURST = 45

/** Replies are sent before messages of broadcasts. */
const PRIORITY = { reply: 0, broadcast: 1 } as const

/**
 * Stores messages as `queued`, puts them into the outbox and enqueues their delivery, in a fixed number of statements.
 * The caller holds the locks of the conversations.
 */
export async function queueMessages(tx: Scope, messages: NewOutbound[]): Promise<void> {
  const { stored } = await sendQueued(tx, messages)
  await stored
  await enqueueDelivery(tx, messages)
}

/** Enqueues the delivery of messages in the outbox. */
export async function enqueueDelivery(tx: Scope, messages: Pick<NewOutbound, 'channelId'>[]): Promise<void> {
  tx.enqueue(...messages.map(({ channelId }) => deliverJob(tx.tenantId, channelId)))
}

/**
 * Sends the statements that store messages as `queueMessages` does, so that others can follow them at once. The delivery is
 * left to the caller.
 */
export async function sendQueued(tx: Scope, messages: NewOutbound[]): Promise<{ stored: Promise<unknown> }> {
  if (messages.length === 0) return { stored: Promise.resolve() }
  const { tenantId } = tx
  const now = tx.now()
  const outbox = messages.map(({ id, channelId, conversationId, broadcastId }) => ({
    tenantId,
    channelId,
    conversationId,
    messageId: id,
    priority: broadcastId === undefined ? PRIORITY.reply : PRIORITY.broadcast,
    attempts: 0,
    notBefore: DUE_AT_ONCE,
    createdAt: now,
    ...tx.traceColumn(conversationId),
  }))
  const rows = await toMessageRows(tx, messages, 'queued')
  const stored = Promise.all([
    tx.sql('queueMessages')`${insertRowsSql('messages', tenantId, rows)}`,
    tx.sql('enterOutbox')`${insertRowsSql('outbox', tenantId, outbox)}`,
    announceQueued(tx, messages),
  ])
  return { stored }
}

/** Builds the rows of new messages. A reply to a message of another conversation is stored without the reference. */
export async function toMessageRows(tx: Scope, messages: NewOutbound[], status: 'queued' | 'scheduled') {
  const { tenantId } = tx
  const now = tx.now()
  const answered = await findConversations(
    tx,
    messages.flatMap(({ replyToId }) => replyToId ?? []),
  )
  return messages.map((message) => ({
    ...message,
    replyToId: answered.get(message.replyToId ?? '') === message.conversationId ? message.replyToId : null,
    tenantId,
    direction: 'outbound',
    type: toMessageType(message.content),
    status,
    createdAt: now,
    updatedAt: now,
  }))
}

/** Finds the conversations of messages, by the IDs of the messages. */
async function findConversations(tx: Scope, messageIds: string[]): Promise<Map<string, string>> {
  const ids = messageIds.filter(isUuid)
  if (ids.length === 0) return new Map()
  const rows = await tx.sql<{ id: string; conversationId: string }>('findConversationsOfMessages')`
    select id, conversation_id from messages where tenant_id = ${tx.tenantId} and id = any(${ids})`
  return new Map(rows.map(({ id, conversationId }) => [id, conversationId]))
}

export type QueuedMessage = Pick<
  NewOutbound,
  'id' | 'conversationId' | 'contactId' | 'channelId' | 'body' | 'content'
> & {
  category?: TemplateCategory | null
}

/** Updates what depends on messages that were put into the outbox. */
export async function announceQueued(tx: Scope, messages: QueuedMessage[]): Promise<void> {
  await Promise.all([
    tx.record(...messages.map(({ id, ...message }) => messageEvent('message.queued', { ...message, messageId: id }))),
    touchByOutbound(
      tx,
      messages.map((message) => ({ ...message, type: toMessageType(message.content) })),
    ),
    countFirstContacts(tx, messages),
  ])
}

type OutboundPreview = Pick<QueuedMessage, 'id' | 'conversationId' | 'contactId' | 'body'> & { type: string }

/**
 * Updates the last message of the conversations, and the last outbound time of the contacts with the time at which their
 * messages are paid back. `assignments` are further SQL assignments to the conversations.
 */
export async function touchByOutbound(
  tx: Scope,
  messages: OutboundPreview[],
  assignments: SqlFragment[] = [],
): Promise<void> {
  const now = tx.now()
  const newest = [...new Map(messages.map((message) => [message.conversationId, message])).values()]
  const previews = newest.map(({ id, conversationId, body, type }): [string, LastMessage] => [
    conversationId,
    toLastMessage({ id, body, direction: 'outbound', type, at: now }),
  ])
  const counts = countBy(messages.map(({ contactId }) => contactId))
  const changes = [
    sqlFragment`last_message = ${JSON.stringify(Object.fromEntries(previews))}::jsonb -> id::text`,
    sqlFragment`last_message_at = ${now}, updated_at = ${now}`,
    ...assignments,
  ]
  await Promise.all([
    tx.sql('touchByOutbound')`
      update conversations set ${joinFragments(changes, ', ')}
      where tenant_id = ${tx.tenantId} and id = any(${previews.map(([id]) => id)})`,
    lockContactsToUpdate(tx, [...counts.keys()]),
    countForPairs(tx, counts),
  ])
}

/** Adds messages to the limits of their contacts. The caller holds the locks of several. */
async function countForPairs(tx: Scope, counts: Map<string, number>): Promise<void> {
  const now = tx.now()
  const nowMs = now.getTime()
  const waits = Object.fromEntries([...counts].map(([id, count]) => [id, count * PAIR_MS]))
  await tx.sql('countForPairs')`
    update contacts set last_outbound_at = ${now}, pair_limited_until_ms = least(
      ${nowMs + PAIR_BURST * PAIR_MS}::bigint,
      greatest(pair_limited_until_ms, ${nowMs}::bigint) + (${JSON.stringify(waits)}::jsonb ->> id::text)::bigint)
    where tenant_id = ${tx.tenantId} and id = any(${[...counts.keys()]})`
}

/**
 * Takes back what messages that were not sent count for the limit of their contacts, as far as that is not over. The locks
 * of contacts come before those of messages, which the caller has, so contacts that are locked are left out.
 */
export async function uncountForPairs(tx: Scope, messages: { contactId: string; queuedAt: Date }[]): Promise<void> {
  const nowMs = tx.now().getTime()
  const rows = messages
    .map(({ contactId, queuedAt }) => ({ id: contactId, ms: queuedAt.getTime() + PAIR_MS - nowMs }))
    .filter(({ ms }) => ms > 0)
  if (rows.length === 0) return
  const contactIds = rows.map(({ id }) => id)
  await tx.sql('uncountForPairs')`
    with locked as (${lockContactsSql(tx, contactIds)} skip locked)
    update contacts c set pair_limited_until_ms = c.pair_limited_until_ms - x.ms
    from locked join jsonb_to_recordset(${toRecordset(rows)}::jsonb) as x (id uuid, ms bigint) on x.id = locked.id
    where c.tenant_id = ${tx.tenantId} and c.id = locked.id`
}

/**
 * Returns a new message id that sorts after `newest`, the newest message of the conversation, even if another machine
 * whose clock is ahead created that one: messages are listed and sent in the order of their ids. The caller holds the
 * lock of the conversation.
 */
export function nextMessageId(newest: string | null | undefined): string {
  const id = newId()
  return !newest || id > newest ? id : deriveId(id, 0, (idTimestamp(newest) ?? 0) + 1)
}

function countBy(values: string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}
