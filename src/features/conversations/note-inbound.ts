import { addMs } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'
import { lastMessageOf, WINDOW_MS } from './window.ts'
import type { StorableMessage } from './store-inbound.ts'

/**
 * What new messages change about their conversations and contacts. The window counts from when the customer wrote, by
 * the provider's clock, and never goes back.
 */
export async function notePerConversation(tx: Scope, fresh: StorableMessage[]): Promise<void> {
  const notes = new Map<string, { id: string; contact_id: string; count: number; at: Date; last: unknown }>()
  for (const { id, message, conversation } of fresh) {
    const before = notes.get(conversation.conversationId)
    const at = before && before.at > message.at ? before.at : message.at
    const last = lastMessageOf({ id, body: message.body, direction: 'inbound', type: message.type, at: tx.now() })
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
  const given = `jsonb_to_recordset(?::jsonb) as x (id uuid, contact_id uuid, count int, at timestamptz, last jsonb, closes_at timestamptz)`
  await tx.db.raw(
    `update conversations cv set unread_count = unread_count + x.count, last_message = x.last, last_message_at = ?,
       last_inbound_at = greatest(last_inbound_at, x.at), window_expires_at = greatest(window_expires_at, x.closes_at),
       reopen_count = reopen_count + (status = 'closed')::int,
       automation_state = case when status = 'closed' then 'on' else automation_state end,
       automation_reason = case when status = 'closed' then null else automation_reason end,
       automation_until = case when status = 'closed' then null else automation_until end,
       status = 'active', snoozed_until = null, closed_at = null, updated_at = ?
     from ${given} where cv.tenant_id = ? and cv.id = x.id`,
    [now, now, JSON.stringify(rows), tx.tenantId],
  )
  await tx.db.raw(
    `update contacts c set last_inbound_at = greatest(last_inbound_at, x.at)
     from ${given} where c.tenant_id = ? and c.id = x.contact_id`,
    [JSON.stringify(rows), tx.tenantId],
  )
}
