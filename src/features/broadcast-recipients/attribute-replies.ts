import { toRecordset } from '../../platform/database/sql.ts'
import { addMs, HOUR } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'

/** A message of a customer counts as a reply to a broadcast for this long, and a withdrawal of its consent as an opt-out. */
export const ATTRIBUTED_MS = 72 * HOUR

type Received = { messageId: string; conversationId: string; contactId: string }
export type Reply = Received & { broadcastId: string; recipientId: string; afterMs: number }

/**
 * Attributes the first message of each contact to the broadcast that reached it last on the channel, within 72 hours, and
 * counts it. A broadcast has at most one reply of each recipient. The caller holds the locks of the conversations.
 */
export async function attributeReplies(tx: Scope, channelId: string, messages: Received[]): Promise<Reply[]> {
  const first = [...new Map(messages.toReversed().map((message) => [message.contactId, message])).values()]
  const now = tx.now()
  const replies = await tx.sql<Reply>('attributeReplies')`
    with newest as (
       select r.id, r.broadcast_id, r.sent_at, x.message_id, x.conversation_id, x.contact_id
       from jsonb_to_recordset(${toRecordset(first)}::jsonb) as x (message_id uuid, conversation_id uuid, contact_id uuid)
       join lateral (
         select s.id, s.broadcast_id, s.sent_at, s.replied_at from broadcast_recipients s
         join broadcasts b on b.tenant_id = ${tx.tenantId} and b.id = s.broadcast_id and b.channel_id = ${channelId}
         where s.tenant_id = ${tx.tenantId} and s.contact_id = x.contact_id and s.sent_at > ${addMs(now, -ATTRIBUTED_MS)}
         order by s.sent_at desc limit 1) r on r.replied_at is null),
     replied as (
       update broadcast_recipients r set replied_at = ${now}, updated_at = ${now} from newest
       where r.tenant_id = ${tx.tenantId} and r.id = newest.id and r.replied_at is null
       returning r.id),
     counted as (
       insert into broadcast_count_deltas (tenant_id, broadcast_id, counter, delta)
       select ${tx.tenantId}::uuid, newest.broadcast_id, 'replied', count(*) from newest join replied on replied.id = newest.id
       group by newest.broadcast_id)
     select newest.message_id, newest.conversation_id, newest.contact_id, newest.broadcast_id, newest.id as recipient_id,
       greatest(0, extract(epoch from ${now}::timestamptz - newest.sent_at) * 1000)::float8 as after_ms
     from newest join replied on replied.id = newest.id`
  await tx.record(
    ...replies.map(({ broadcastId, recipientId, contactId, messageId }) => ({
      type: 'broadcast.replied' as const,
      data: { broadcastId, recipientId, contactId, messageId },
    })),
  )
  return replies
}
