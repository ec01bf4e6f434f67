import { addMs, HOUR } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'

/** A message of a customer counts as a reply to a broadcast for this long, and a withdrawal of its consent as an opt-out. */
const ATTRIBUTED_MS = 72 * HOUR

type Received = { messageId: string; conversationId: string; contactId: string }
export type Reply = Received & { broadcastId: string; recipientId: string; afterMs: number }

type Reached = { contactId: string; broadcastId: string; recipientId: string; sentAt: Date; repliedAt: Date | null }

/**
 * Attributes the first message of each contact to the broadcast that reached it last on the channel, within 72 hours.
 * A broadcast has at most one reply of each recipient. The caller holds the locks of the conversations.
 */
export async function attributeReplies(tx: Scope, channelId: string, messages: Received[]): Promise<Reply[]> {
  const first = [...new Map(messages.toReversed().map((message) => [message.contactId, message])).values()]
  const now = tx.now()
  const reached = await findReached(tx, channelId, first)
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

/** Finds the broadcasts on the channel that reached contacts last, unless they have been answered. */
async function findReached(tx: Scope, channelId: string, messages: Received[]): Promise<Reply[]> {
  const now = tx.now()
  const contactIds = messages.map(({ contactId }) => contactId)
  const sent = await tx.sql<Reached>('findReached')`
    select contact_id, broadcast_id, id as recipient_id, sent_at, replied_at from broadcast_recipients
    where tenant_id = ${tx.tenantId} and contact_id = any(${contactIds}) and sent_at > ${addMs(now, -ATTRIBUTED_MS)}
    order by sent_at desc`
  if (sent.length === 0) return []
  const broadcastIds = [...new Set(sent.map(({ broadcastId }) => broadcastId))]
  const ofChannel = await tx.sql<{ id: string }>('findBroadcastsOfChannel')`
    select id from broadcasts where tenant_id = ${tx.tenantId} and id = any(${broadcastIds}) and channel_id = ${channelId}`
  const idsOfChannel = new Set(ofChannel.map(({ id }) => id))
  const newest = sent.toReversed().filter(({ broadcastId }) => idsOfChannel.has(broadcastId))
  const byContact = new Map(newest.map((recipient) => [recipient.contactId, recipient]))
  return messages.flatMap((message): Reply[] => {
    const recipient = byContact.get(message.contactId)
    if (!recipient || recipient.repliedAt !== null) return []
    const { broadcastId, recipientId, sentAt } = recipient
    return [{ ...message, broadcastId, recipientId, afterMs: Math.max(0, now.getTime() - sentAt.getTime()) }]
  })
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
