import type { InboundMessage } from '../../channels/channel.ts'
import { toRecordset } from '../../platform/database/sql.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import { isDeletedSql } from '../automation/deleted-message-ids.ts'
import { sortForLocking } from '../automation/lock-order.ts'
import { keepWebhooksSql, type RawWebhook } from '../provider-webhooks/keep-webhooks.ts'
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
 * key on the provider's id decides, so two concurrent deliveries leave one message; its provider id and the message are
 * inserted by one statement, together with the webhook calls that they arrived in.
 */
export async function insertInbound(
  tx: Scope,
  channelId: string,
  { messages, webhooks }: { messages: NewInboundMessage[]; webhooks: RawWebhook[] },
): Promise<NewInboundMessage[]> {
  const distinct = [...new Map(messages.toReversed().map((entry) => [entry.message.providerMessageId, entry])).values()]
  const rows = distinct.map(({ id, message, conversation }) => ({
    id,
    providerMessageId: message.providerMessageId,
    conversationId: conversation.conversationId,
    contactId: conversation.contactId,
    type: message.type,
    body: message.body,
    content: message.content,
    providerAt: message.at,
    sender: { type: 'contact', id: conversation.contactId, name: null },
  }))
  const sorted = sortForLocking(rows, (row) => row.providerMessageId)
  const ids = sorted.map(({ id }) => id)
  const providerIds = sorted.map(({ providerMessageId }) => providerMessageId)
  const now = tx.now()
  const inserted = await tx.sql<{ id: string }>('insertInbound')`
    with new_ids as (
       insert into provider_message_ids (tenant_id, channel_id, provider_message_id, message_id, created_at)
       select ${tx.tenantId}::uuid, ${channelId}::uuid, provider_message_id, id, ${now}::timestamptz
       from unnest(${ids}::uuid[], ${providerIds}::text[]) as x (id, provider_message_id)
       where not ${isDeletedSql(tx, channelId, sqlFragment`x.provider_message_id`)}
       on conflict do nothing returning message_id),
     ${keepWebhooksSql(tx, channelId, webhooks)}
     insert into messages (tenant_id, id, conversation_id, contact_id, channel_id, direction, type, body, content,
       status, sender, provider_message_id, provider_at, created_at, updated_at)
     select ${tx.tenantId}::uuid, i.id, i.conversation_id, i.contact_id, ${channelId}::uuid, 'inbound', i.type, i.body, i.content,
       'received', i.sender, i.provider_message_id, i.provider_at, ${now}::timestamptz, ${now}::timestamptz
     from jsonb_to_recordset(${toRecordset(sorted)}::jsonb) as i (id uuid, provider_message_id text, conversation_id uuid,
       contact_id uuid, type text, body text, content jsonb, provider_at timestamptz, sender jsonb)
     join new_ids on new_ids.message_id = i.id
     returning id`
  const insertedIds = new Set(inserted.map(({ id }) => id))
  return messages.filter(({ id }) => insertedIds.has(id))
}
