import type { InboundMessage } from '../../channels/channel.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import { leaveToCommit } from '../../platform/database/transaction.ts'
import type { Scope } from '../../scope/scope.ts'
import { findDeletedIds } from '../automation/deleted-message-ids.ts'
import { sortForLocking } from '../automation/lock-order.ts'
import { keepWebhooks, type RawWebhook } from '../provider-webhooks/keep-webhooks.ts'
import type { EnsuredConversation } from '../conversations/ensure-conversations.ts'

export type NewInboundMessage = {
  id: string
  message: InboundMessage
  conversation: EnsuredConversation
  /** IDs of the events that precede the message if it opens the conversation. */
  openingIds: Record<'contact_created' | 'conversation_opened', string>
}

/**
 * Inserts messages and returns those that have never been stored; one that was stored and deleted stays deleted. The unique
 * key on the provider's id decides, so two concurrent deliveries leave one message. The webhook calls that they arrived in
 * are stored with them. The caller holds the locks of the conversations, as every deletion of messages does, and
 * awaits `stored` with the statements that follow.
 */
export async function insertInbound(
  tx: Scope,
  channelId: string,
  { messages, webhooks }: { messages: NewInboundMessage[]; webhooks: RawWebhook[] },
): Promise<{ inserted: NewInboundMessage[]; stored: Promise<unknown> }> {
  const distinct = [...new Map(messages.toReversed().map((entry) => [entry.message.providerMessageId, entry])).values()]
  const sorted = sortForLocking(distinct, ({ message }) => message.providerMessageId)
  const providerIds = sorted.map(({ message }) => message.providerMessageId)
  const [newIds, deletedIds] = await Promise.all([
    insertNewIds(tx, channelId, sorted),
    findDeletedIds(tx, channelId, providerIds),
    keepWebhooks(tx, channelId, webhooks),
  ])
  const isNew = ({ id }: NewInboundMessage) => newIds.has(id)
  const isDeleted = ({ message }: NewInboundMessage) => deletedIds.has(message.providerMessageId)
  const inserted = messages.filter((entry) => isNew(entry) && !isDeleted(entry))
  const stored = Promise.all([
    insertMessages(tx, channelId, inserted),
    removeIds(
      tx,
      channelId,
      sorted.filter((entry) => isNew(entry) && isDeleted(entry)),
    ),
  ])
  return { inserted, stored: leaveToCommit(stored) }
}

/** Stores the provider's ids of messages, and returns our own of those that were not known. */
async function insertNewIds(tx: Scope, channelId: string, messages: NewInboundMessage[]): Promise<Set<string>> {
  if (messages.length === 0) return new Set()
  const rows = messages.map(({ id, message: { providerMessageId } }) => ({
    channelId,
    providerMessageId,
    messageId: id,
    createdAt: tx.now(),
  }))
  const inserted = await tx.sql<{ messageId: string }>('insertInboundIds')`
    ${insertRowsSql('provider_message_ids', tx.tenantId, rows)} on conflict do nothing returning message_id`
  return new Set(inserted.map(({ messageId }) => messageId))
}

/** Removes the ids of messages that have been deleted, of which nothing is stored. */
async function removeIds(tx: Scope, channelId: string, messages: NewInboundMessage[]): Promise<void> {
  if (messages.length === 0) return
  await tx.sql('removeInboundIds')`
    delete from provider_message_ids where tenant_id = ${tx.tenantId} and channel_id = ${channelId}
      and message_id = any(${messages.map(({ id }) => id)})`
}

async function insertMessages(tx: Scope, channelId: string, messages: NewInboundMessage[]): Promise<void> {
  if (messages.length === 0) return
  const now = tx.now()
  const rows = messages.map(({ id, message, conversation: { conversationId, contactId } }) => ({
    id,
    conversationId,
    contactId,
    channelId,
    direction: 'inbound',
    type: message.type,
    body: message.body,
    content: message.content,
    status: 'received',
    sender: { type: 'contact', id: contactId, name: null },
    providerMessageId: message.providerMessageId,
    providerAt: message.at,
    createdAt: now,
    updatedAt: now,
  }))
  await tx.sql('insertInbound')`${insertRowsSql('messages', tx.tenantId, rows)}`
}
