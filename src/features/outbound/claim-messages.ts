import type { OutboundMessage } from '../../channels/channel.ts'
import type { Event, Scope } from '../../scope.ts'
import { isWindowOpen } from '../conversations/service-window.ts'

export type ClaimedMessage = OutboundMessage & {
  attempt: number
  conversationId: string
  contactId: string
  /** The window closed while the message waited: it must not go out. */
  isLate: boolean
}

type Row = {
  messageId: string
  attempt: number
  conversationId: string
  contactId: string
  body: string | null
  content: Record<string, unknown> | null
  phone: string | null
  userId: string | null
  windowExpiresAt: Date | null
}

/**
 * Takes what is due, the oldest of each conversation only: the next one of a person goes out when this one is settled,
 * so a person reads them in order. A message claimed by another process is left to it. Rows are found by conversation
 * and message, and whether there is an older one is asked for each (`offset 0` keeps it so): the table is full one moment
 * and empty the next, and what the planner believes of it is true of neither.
 */
export async function claimMessages(tx: Scope, channelId: string, limit: number): Promise<ClaimedMessage[]> {
  const now = tx.now()
  const { rows } = await tx.db.raw<{ rows: Row[] }>(
    `with due as (
       select o.conversation_id, o.message_id from outbox o
       where o.tenant_id = :tenantId and o.channel_id = :channelId and o.leased_at is null and o.not_before <= :now
         and not exists (select from outbox e where e.tenant_id = o.tenant_id and e.conversation_id = o.conversation_id
           and e.message_id < o.message_id offset 0)
       order by o.priority, o.message_id limit :limit),
     claimed as (
       update outbox o set leased_at = :now, attempts = attempts + 1 from due
       where o.tenant_id = :tenantId and o.conversation_id = due.conversation_id and o.message_id = due.message_id and o.leased_at is null
       returning o.message_id, o.attempts)
     update messages m set status = 'sending', updated_at = :now
     from claimed, conversations cv, contacts c
     where m.tenant_id = :tenantId and m.id = claimed.message_id
       and cv.tenant_id = m.tenant_id and cv.id = m.conversation_id and c.tenant_id = m.tenant_id and c.id = m.contact_id
     returning m.id as "messageId", claimed.attempts as attempt, m.conversation_id as "conversationId",
       m.contact_id as "contactId", m.body, m.content, cv.window_expires_at as "windowExpiresAt",
       coalesce((select i.value from contact_identities i where i.tenant_id = m.tenant_id and i.contact_id = m.contact_id
         and i.channel_id = m.channel_id and i.kind = 'phone' order by i.created_at limit 1), c.phone) as phone,
       (select i.value from contact_identities i where i.tenant_id = m.tenant_id and i.contact_id = m.contact_id
         and i.channel_id = m.channel_id and i.kind = 'bsuid' order by i.created_at limit 1) as "userId"`,
    { tenantId: tx.tenantId, channelId, now, limit },
  )
  return rows.map(({ phone, userId, windowExpiresAt, body, ...row }) => ({
    ...row,
    body: body ?? '',
    to: { phone, userId },
    isLate: !isWindowOpen(windowExpiresAt, now),
  }))
}

export function messageEvent(
  type: Event['type'],
  message: { messageId: string; conversationId: string; contactId: string },
): Event {
  const { messageId, conversationId, contactId } = message
  return { type, data: { messageId, conversationId, contactId } }
}
