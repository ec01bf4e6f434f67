import type { InboundMessage } from '../../channels/channel.ts'
import type { Scope } from '../../scope.ts'
import type { OpenedConversation } from './open-conversations.ts'

export type NewInboundMessage = { id: string; message: InboundMessage; conversation: OpenedConversation }

/**
 * Stores the messages that were not stored before, and says which those are. The unique key on the provider's id
 * decides, so two deliveries at once leave one message; the reference and the message are one statement.
 */
export async function insertInbound(
  tx: Scope,
  channelId: string,
  messages: NewInboundMessage[],
): Promise<NewInboundMessage[]> {
  const distinct = [...new Map(messages.toReversed().map((entry) => [entry.message.providerMessageId, entry])).values()]
  const rows = distinct.map(({ id, message, conversation }) => ({
    id,
    ref: message.providerMessageId,
    conversation_id: conversation.conversationId,
    contact_id: conversation.contactId,
    type: message.type,
    body: message.body,
    content: message.content,
    provider_at: message.at,
    sender: { type: 'contact', id: conversation.contactId, name: null },
  }))
  // In one order everywhere: two transactions with the same messages wait for each other, and do not deadlock.
  rows.sort((a, b) => (a.ref < b.ref ? -1 : 1))
  const now = tx.now()
  const stored = await tx.db.raw<{ rows: { id: string }[] }>(
    `with given as (
       select * from jsonb_to_recordset(?::jsonb) as x (id uuid, ref text, conversation_id uuid, contact_id uuid,
         type text, body text, content jsonb, provider_at timestamptz, sender jsonb)),
     fresh as (
       insert into provider_message_ids (tenant_id, channel_id, provider_message_id, message_id, created_at)
       select ?::uuid, ?::uuid, ref, id, ?::timestamptz from given
       on conflict do nothing returning message_id)
     insert into messages (tenant_id, id, conversation_id, contact_id, channel_id, direction, type, body, content,
       status, sender, provider_message_id, provider_at, created_at, updated_at)
     select ?::uuid, g.id, g.conversation_id, g.contact_id, ?::uuid, 'inbound', g.type, g.body, g.content,
       'received', g.sender, g.ref, g.provider_at, ?::timestamptz, ?::timestamptz
     from given g join fresh on fresh.message_id = g.id
     returning id`,
    [JSON.stringify(rows), tx.tenantId, channelId, now, tx.tenantId, channelId, now, now],
  )
  const fresh = new Set(stored.rows.map(({ id }) => id))
  return messages.filter(({ id }) => fresh.has(id))
}
