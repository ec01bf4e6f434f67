import type { InboundMessage } from '../../channels/channel.ts'
import type { ItemContent } from '../../engine/mailbox/item.ts'
import type { FindSpan, Span } from '../../platform/tracing/span.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Event } from '../../scope/event-types.ts'
import { advanceJob } from '../automation/jobs.ts'
import { attributeReplies, type Reply } from '../broadcast-recipients/attribute-responses.ts'
import { putItems } from '../automation/store/mailbox-store.ts'
import { ensureConversations, type EnsuredConversation } from '../conversations/ensure-conversations.ts'
import { loadCachedKeywordSettings } from '../consent/keyword-settings.ts'
import { queueMedia } from '../media/fetch-media.ts'
import { nextMessageId } from '../outbound/queue-messages.ts'
import type { RawWebhook } from '../provider-webhooks/keep-webhooks.ts'
import { applyConsentKeywords, findConsentKeywords } from './apply-consent-keywords.ts'
import { insertInbound, type NewInboundMessage } from './insert-inbound.ts'
import { carryBetweenContacts, resolveSenders, type ResolvedSender, senderKey } from './resolve-senders.ts'
import { touchConversations } from './touch-conversations.ts'

export type ReceivedMessage = { messageId: string; conversationId: string; isDuplicate: boolean }

type NewMessages = {
  channelId: string
  messages: InboundMessage[]
  /** Webhook calls in which the messages arrived, which are kept. */
  webhooks?: RawWebhook[]
  /** Spans of these calls, by message. */
  spans?: ReadonlyMap<object, Span>
  lockTimeoutMs?: number
}

/**
 * Stores inbound messages in one transaction: contacts, conversations, messages, mailbox items and the job that processes
 * them. A message that was stored before changes nothing, so a provider may deliver it any number of times, also after its
 * contact was deleted. Returns one entry per message, in order, apart from deleted ones.
 */
export async function receiveMessages(
  scope: Scope,
  { channelId, messages, webhooks = [], spans, ...options }: NewMessages,
): Promise<ReceivedMessage[]> {
  if (messages.length === 0) return []
  const keywordSettings = await loadCachedKeywordSettings(scope)
  const byConversation = new Map<string, Span>()
  const findSpan: FindSpan = (conversationId) => byConversation.get(conversationId)
  return scope.transaction(
    async (tx) => {
      const senders = await resolveSenders(
        tx,
        channelId,
        messages.map(({ from, providerMessageId }) => ({ sender: from, providerMessageId })),
      )
      const contactIds = [...senders.values()].map(({ contactId }) => contactId)
      const conversations = await ensureConversations(tx, channelId, contactIds)
      const newestIds = new Map<string, string>()
      const candidates = messages.flatMap((message) =>
        prepare(message, { channelId, senders, conversations, newestIds }),
      )
      for (const { message, conversation } of spans?.size ? candidates : []) {
        const span = spans?.get(message)
        if (span) byConversation.set(conversation.conversationId, span)
      }
      const { inserted, stored } = await insertInbound(tx, channelId, { messages: candidates, webhooks })
      if (inserted.length > 0) {
        const found = findConsentKeywords(keywordSettings, inserted)
        const keywords = new Map(found.map(({ keyword, received }) => [received.id, keyword]))
        // Sent together, in this order.
        const [, , replies] = await Promise.all([
          stored,
          touchConversations(tx, inserted),
          attributeReplies(tx, channelId, inserted.map(toReceivedFrom)),
          deliverToMailboxes(tx, { channelId, messages: inserted, senders, keywords }),
          queueMedia(tx, channelId, inserted),
          applyConsentKeywords(tx, channelId, { settings: keywordSettings, found, messages: inserted }),
        ])
        await carryBetweenContacts(tx, channelId, senders.values())
        await deliverReplies(tx, replies, keywords)
        await tx.record(...toEvents(inserted, senders))
        tx.enqueue(advanceJob(tx.tenantId))
      } else await stored
      return toReceived(tx, { channelId, candidates, inserted })
    },
    { size: messages.length, ...options, ...(spans?.size ? { findSpan } : {}) },
  )
}

type Batch = {
  channelId: string
  senders: Map<string, ResolvedSender>
  conversations: Map<string, EnsuredConversation>
  /** Newest message of each conversation that this batch has a message of. */
  newestIds: Map<string, string>
}

/**
 * Gives a message its id and its conversation. The ids of its mailbox items are derived from the conversation's newest
 * message, under the lock of the conversation, so that processes with different clocks keep the order. A message that was
 * deleted and has no sender is left out.
 */
function prepare(
  message: InboundMessage,
  { channelId, senders, conversations, newestIds }: Batch,
): NewInboundMessage | [] {
  const sender = senders.get(senderKey(message.from))
  if (!sender) return []
  const conversation = conversations.get(sender.contactId)
  if (!conversation) throw new Error(`a sender of channel ${channelId} has no conversation`)
  const { conversationId, lastMessageId } = conversation
  const createdId = nextMessageId(newestIds.get(conversationId) ?? lastMessageId)
  const openedId = nextMessageId(createdId)
  const id = nextMessageId(openedId)
  newestIds.set(conversationId, id)
  return { id, message, conversation, openingIds: { contact_created: createdId, conversation_opened: openedId } }
}

type Delivery = {
  channelId: string
  messages: NewInboundMessage[]
  senders: Map<string, ResolvedSender>
  /** Consent keywords by message. */
  keywords: Map<string, string>
}

/** Puts what workflows may react to into the mailboxes of the conversations, in the order in which it happened. */
async function deliverToMailboxes(tx: Scope, { channelId, messages, senders, keywords }: Delivery): Promise<void> {
  const seen = new Set<string>()
  const items = messages.flatMap(({ id, message, conversation, openingIds }) => {
    const { conversationId, isNew, wasClosed } = conversation
    const isFirst = (isNew || wasClosed) && !seen.has(conversationId)
    const keyword = keywords.get(id)
    const preemption = keyword === undefined ? {} : { consentKeyword: keyword }
    const occurrences = [
      ...(isFirst && senders.get(senderKey(message.from))?.isNew
        ? [{ id: openingIds.contact_created, ...openingEvent({ type: 'contact_created', ...preemption }, null) }]
        : []),
      ...(isFirst
        ? [{ id: openingIds.conversation_opened, ...openingEvent({ type: 'conversation_opened', ...preemption }, id) }]
        : []),
      { id, ...messageItem(id, { channelId, isFirst, ...preemption }) },
    ]
    seen.add(conversationId)
    const mailbox = { kind: 'conversation' as const, id: conversationId }
    return occurrences.map((item) => ({ mailbox, ...item }))
  })
  await putItems(tx, items)
}

/** Puts replies to broadcasts, other than consent keywords, into the mailboxes behind their messages. */
async function deliverReplies(tx: Scope, replies: Reply[], keywords: Map<string, string>): Promise<void> {
  const offered = replies.filter(({ messageId }) => !keywords.has(messageId))
  await putItems(
    tx,
    offered.map(({ messageId, conversationId, broadcastId, recipientId, afterMs }) => ({
      id: nextMessageId(messageId),
      mailbox: { kind: 'conversation' as const, id: conversationId },
      kind: 'event' as const,
      payload: { event: { type: 'broadcast_replied', broadcastId, recipientId, afterMs }, messageId, depth: 0 },
    })),
  )
}

function toReceivedFrom({ id, conversation: { conversationId, contactId } }: NewInboundMessage) {
  return { messageId: id, conversationId, contactId }
}

type OpeningEvent = { type: 'contact_created' | 'conversation_opened'; consentKeyword?: string }

function openingEvent(event: OpeningEvent, messageId: string | null): ItemContent {
  return { kind: 'event', payload: { event, messageId, depth: 0 } }
}

function messageItem(
  messageId: string,
  event: { channelId: string; isFirst: boolean; consentKeyword?: string },
): ItemContent {
  return { kind: 'message', payload: { messageId, event: { type: 'message_received', ...event } } }
}

function toEvents(messages: NewInboundMessage[], senders: Map<string, ResolvedSender>): Event[] {
  const conversations = new Map(messages.map(({ conversation }) => [conversation.conversationId, conversation]))
  const createdIds = new Set([...senders.values()].flatMap(({ contactId, isNew }) => (isNew ? [contactId] : [])))
  return [
    ...[...createdIds].map((contactId): Event => ({ type: 'contact.created', data: { contactId } })),
    ...[...conversations.values()].flatMap(({ conversationId, contactId, isNew, wasClosed }): Event[] => {
      if (!isNew && !wasClosed) return []
      return [{ type: isNew ? 'conversation.opened' : 'conversation.reopened', data: { conversationId, contactId } }]
    }),
    ...messages.map(({ id, conversation: { conversationId, contactId } }): Event => ({
      type: 'message.received',
      data: { messageId: id, conversationId, contactId },
    })),
  ]
}

async function toReceived(
  tx: Scope,
  {
    channelId,
    candidates,
    inserted,
  }: { channelId: string; candidates: NewInboundMessage[]; inserted: NewInboundMessage[] },
): Promise<ReceivedMessage[]> {
  const insertedIds = new Set(inserted.map(({ id }) => id))
  const duplicates = candidates.filter(({ id }) => !insertedIds.has(id)).map(({ message }) => message.providerMessageId)
  const stored =
    duplicates.length === 0
      ? []
      : await tx.sql<{ providerMessageId: string; messageId: string }>('findStoredMessages')`
          select provider_message_id, message_id from provider_message_ids
           where tenant_id = ${tx.tenantId} and channel_id = ${channelId} and provider_message_id = any(${duplicates})`
  const storedIds = new Map(stored.map(({ providerMessageId, messageId }) => [providerMessageId, messageId]))
  return candidates.map(({ id, message, conversation: { conversationId } }) => ({
    messageId: insertedIds.has(id) ? id : (storedIds.get(message.providerMessageId) ?? id),
    conversationId,
    isDuplicate: !insertedIds.has(id),
  }))
}
