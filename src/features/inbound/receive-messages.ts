import { advanceJob } from '../automation/jobs.ts'
import type { InboundMessage } from '../../channels/channel.ts'
import type { ItemContent } from '../../engine/mailbox/item.ts'
import { putItems } from '../automation/store/mailbox-store.ts'
import { newId } from '../../platform/ids.ts'
import type { Event, Scope } from '../../scope.ts'
import { resolveSenders, type ResolvedSender, senderKey } from './resolve-senders.ts'
import { nextMessageId } from '../outbound/next-message-id.ts'
import { touchConversations } from './touch-conversations.ts'
import { openConversations, type OpenedConversation } from './open-conversations.ts'
import { type NewInboundMessage, insertInbound } from './insert-inbound.ts'

export type ReceivedMessage = { messageId: string; conversationId: string; isDuplicate: boolean }

/**
 * Stores what customers wrote, in one transaction for all: contact, conversation, message, mailbox and bell. A message
 * that was stored before changes nothing, so a provider may deliver it as often as it likes. Answers one entry per
 * message, in order.
 */
export async function receiveMessages(
  scope: Scope,
  { channelId, messages }: { channelId: string; messages: InboundMessage[] },
): Promise<ReceivedMessage[]> {
  if (messages.length === 0) return []
  return scope.transaction(async (tx) => {
    const senders = await resolveSenders(
      tx,
      channelId,
      messages.map(({ from }) => from),
    )
    const contactIds = [...senders.values()].map(({ contactId }) => contactId)
    const conversations = await openConversations(tx, channelId, contactIds)
    const newest = new Map<string, string>()
    const storable = messages.map((message) => place(message, { channelId, senders, conversations, newest }))
    const fresh = await insertInbound(tx, channelId, storable)
    if (fresh.length > 0) {
      await touchConversations(tx, fresh)
      await deliverToMailboxes(tx, { channelId, fresh, senders })
      await tx.record(...eventsOf(fresh, senders))
      await tx.enqueue(advanceJob(tx.tenantId))
    }
    return answersFor(tx, { channelId, storable, fresh })
  })
}

type Places = {
  channelId: string
  senders: Map<string, ResolvedSender>
  conversations: Map<string, OpenedConversation>
  /** The newest message of a conversation, where this batch has one. */
  newest: Map<string, string>
}

function place(message: InboundMessage, { channelId, senders, conversations, newest }: Places): NewInboundMessage {
  const sender = senders.get(senderKey(message.from))
  const conversation = sender && conversations.get(sender.contactId)
  if (!conversation) throw new Error(`no conversation was opened for a sender of channel ${channelId}`)
  const { conversationId, lastMessageId } = conversation
  const id = nextMessageId(newest.get(conversationId) ?? lastMessageId)
  newest.set(conversationId, id)
  return { id, message, conversation }
}

/** What workflows may react to, in the order in which it happened. */
async function deliverToMailboxes(
  tx: Scope,
  {
    channelId,
    fresh,
    senders,
  }: { channelId: string; fresh: NewInboundMessage[]; senders: Map<string, ResolvedSender> },
): Promise<void> {
  const seen = new Set<string>()
  const items = fresh.flatMap(({ id, message, conversation }) => {
    const { conversationId, isNew, wasClosed } = conversation
    const isFirst = (isNew || wasClosed) && !seen.has(conversationId)
    const happened = [
      ...(isFirst && senders.get(senderKey(message.from))?.isNew ? [openingEvent('contact_created', null)] : []),
      ...(isFirst ? [openingEvent('conversation_opened', id)] : []),
      messageItem(id, { channelId, isFirst }),
    ]
    seen.add(conversationId)
    const mailbox = { kind: 'conversation' as const, id: conversationId }
    return happened.map((item) => ({ id: newId(), mailbox, ...item }))
  })
  await putItems(tx, items)
}

function openingEvent(type: 'contact_created' | 'conversation_opened', messageId: string | null): ItemContent {
  return { kind: 'event', payload: { event: { type }, messageId, depth: 0 } }
}

function messageItem(messageId: string, event: { channelId: string; isFirst: boolean }): ItemContent {
  return { kind: 'message', payload: { messageId, event: { type: 'message_received', ...event } } }
}

function eventsOf(fresh: NewInboundMessage[], senders: Map<string, ResolvedSender>): Event[] {
  const conversations = new Map(fresh.map(({ conversation }) => [conversation.conversationId, conversation]))
  const created = [...senders.values()].filter(({ isNew }) => isNew)
  return [
    ...created.map(({ contactId }): Event => ({ type: 'contact.created', data: { contactId } })),
    ...[...conversations.values()].flatMap(({ conversationId, contactId, isNew, wasClosed }): Event[] => {
      if (!isNew && !wasClosed) return []
      return [{ type: isNew ? 'conversation.opened' : 'conversation.reopened', data: { conversationId, contactId } }]
    }),
    ...fresh.map(({ id, conversation: { conversationId, contactId } }): Event => ({
      type: 'message.received',
      data: { messageId: id, conversationId, contactId },
    })),
  ]
}

async function answersFor(
  tx: Scope,
  { channelId, storable, fresh }: { channelId: string; storable: NewInboundMessage[]; fresh: NewInboundMessage[] },
): Promise<ReceivedMessage[]> {
  const isFresh = new Set(fresh.map(({ id }) => id))
  const repeated = storable.filter(({ id }) => !isFresh.has(id)).map(({ message }) => message.providerMessageId)
  const earlier = new Map<string, string>()
  if (repeated.length > 0) {
    const rows = await tx
      .db('provider_message_ids')
      .where({ tenant_id: tx.tenantId, channel_id: channelId })
      .whereRaw('provider_message_id = any(?)', [repeated])
      .select<{ provider_message_id: string; message_id: string }[]>('provider_message_id', 'message_id')
    for (const row of rows) earlier.set(row.provider_message_id, row.message_id)
  }
  return storable.map(({ id, message, conversation: { conversationId } }) => ({
    messageId: isFresh.has(id) ? id : (earlier.get(message.providerMessageId) ?? id),
    conversationId,
    isDuplicate: !isFresh.has(id),
  }))
}
