import { toRecordset } from '../../platform/database/sql.ts'
import { addMs, HOUR } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'

/** A message of a customer counts as a reply to a broadcast for this long, and a withdrawal of its consent as an opt-out. */
const ATTRIBUTED_MS = 72 * HOUR

type Received = { messageId: string; conversationId: string; contactId: string }
export type Reply = Received & { broadcastId: string; recipientId: string; afterMs: number }

/**
 * Attributes the first message of each contact to the broadcast that reached it last on the channel, within 72 hours.
 * A broadcast has at most one reply of each recipient. The caller holds the locks of the conversations.
 */
export async function attributeReplies(tx: Scope, channelId: string, messages: Received[]): Promise<Reply[]> {
  const first = [...new Map(messages.toReversed().map((message) => [message.contactId, message])).values()]
  const now = tx.now()
  const reached = await tx.sql<Reply>('findBroadcastsOfReplies')`
    select r.broadcast_id, r.id as recipient_id, x.message_id, x.conversation_id, x.contact_id,
      greatest(0, extract(epoch from ${now}::timestamptz - r.sent_at) * 1000)::float8 as after_ms
    from jsonb_to_recordset(${toRecordset(first)}::jsonb) as x (message_id uuid, conversation_id uuid, contact_id uuid)
    join lateral (
      select s.id, s.broadcast_id, s.sent_at, s.replied_at from broadcast_recipients s
      join broadcasts b on b.tenant_id = ${tx.tenantId} and b.id = s.broadcast_id and b.channel_id = ${channelId}
      where s.tenant_id = ${tx.tenantId} and s.contact_id = x.contact_id and s.sent_at > ${addMs(now, -ATTRIBUTED_MS)}
      order by s.sent_at desc limit 1) r on r.replied_at is null`
  if (reached.length === 0) return []
  const recorded = await tx.sql<{ id: string }>('recordReplies')`
    update broadcast_recipients set replied_at = ${now}, updated_at = ${now}
    where tenant_id = ${tx.tenantId} and id = any(${reached.map(({ recipientId }) => recipientId)}) and replied_at is null
    returning id`
  const recordedIds = new Set(recorded.map(({ id }) => id))
  const replies = reached.filter(({ recipientId }) => recordedIds.has(recipientId))
  await tx.record(
    ...replies.map(({ broadcastId, recipientId, contactId, messageId }) => ({
      type: 'broadcast.replied' as const,
      data: { broadcastId, recipientId, contactId, messageId },
    })),
  )
  return replies
}

/**
 * Attributes the opt-outs of contacts to the broadcast that reached each of them last, within 72 hours.
 * A broadcast has at most one opt-out of each recipient. The caller holds the locks of the contacts.
 */
export async function attributeOptOuts(tx: Scope, contactIds: string[]): Promise<void> {
  if (contactIds.length === 0) return
  const now = tx.now()
  await tx.sql('attributeOptOuts')`
    with newest as (
       select r.id from unnest(${contactIds}::uuid[]) as x (contact_id)
       join lateral (
         select s.id, s.opted_out_at from broadcast_recipients s
         where s.tenant_id = ${tx.tenantId} and s.contact_id = x.contact_id and s.sent_at > ${addMs(now, -ATTRIBUTED_MS)}
         order by s.sent_at desc limit 1) r on r.opted_out_at is null)
     update broadcast_recipients r set opted_out_at = ${now}, updated_at = ${now} from newest
     where r.tenant_id = ${tx.tenantId} and r.id = newest.id and r.opted_out_at is null`
}
