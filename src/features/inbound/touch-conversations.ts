import { addMs } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'
import { LOCKED_CONTACTS } from '../conversations/lock-contacts.ts'
import { toLastMessage, WINDOW_MS } from '../conversations/service-window.ts'
import type { NewInboundMessage } from './insert-inbound.ts'

/**
 * What new messages change about their conversations and contacts. The window counts from when the customer wrote, by
 * the provider's clock, and never goes back.
 */
export async function touchConversations(tx: Scope, fresh: NewInboundMessage[]): Promise<void> {
  const notes = new Map<string, { id: string; contact_id: string; count: number; at: Date; last: unknown }>()
  for (const { id, message, conversation } of fresh) {
    const before = notes.get(conversation.conversationId)
    const at = before && before.at > message.at ? before.at : message.at
    const last = toLastMessage({ id, body: message.body, direction: 'inbound', type: message.type, at: tx.now() })
    const count = (before?.count ?? 0) + 1
    notes.set(conversation.conversationId, {
      id: conversation.conversationId,
      contact_id: conversation.contactId,
      count,
      at,
      last,
    })
  }
  const now = tx.now()
  const rows = [...notes.values()].map((note) => ({ ...note, closes_at: addMs(note.at, WINDOW_MS) }))
  await tx.db.raw(
    `with given as materialized (
       select * from jsonb_to_recordset(:given::jsonb) as x (id uuid, contact_id uuid, count int, at timestamptz, last jsonb, closes_at timestamptz)),
     noted as (
       update conversations cv set unread_count = unread_count + x.count, last_message = x.last, last_message_at = :now,
         last_inbound_at = greatest(last_inbound_at, x.at), window_expires_at = greatest(window_expires_at, x.closes_at),
         reopen_count = reopen_count + (status = 'closed')::int,
         automation_state = case when status = 'closed' then 'on' else automation_state end,
         automation_reason = case when status = 'closed' then null else automation_reason end,
         automation_until = case when status = 'closed' then null else automation_until end,
         status = 'active', snoozed_until = null, closed_at = null, updated_at = :now
       from given x where cv.tenant_id = :tenantId and cv.id = x.id),
     held as (${LOCKED_CONTACTS})
     update contacts c set last_inbound_at = greatest(last_inbound_at, x.at)
     from held join given x on x.contact_id = held.id where c.tenant_id = :tenantId and c.id = held.id`,
    { given: JSON.stringify(rows), contactIds: rows.map((row) => row.contact_id), tenantId: tx.tenantId, now },
  )
}
