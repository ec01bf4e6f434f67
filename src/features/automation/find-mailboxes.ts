import type { Mailbox } from '../../engine/model/mailbox-key.ts'
import type { Scope } from '../../scope/scope.ts'

export type ContactMailbox = { mailbox: Mailbox; conversationId: string | null }

/** Finds the mailbox of each contact: its newest conversation, or the contact itself if it has none. */
export async function findMailboxes(tx: Scope, contactIds: string[]): Promise<Map<string, ContactMailbox>> {
  if (contactIds.length === 0) return new Map()
  const rows = await tx.sql<{ contactId: string; conversationId: string | null }>('findMailboxes')`
    select c.id as contact_id, newest.id as conversation_id
     from contacts c left join lateral (
       select cv.id from conversations cv where cv.tenant_id = ${tx.tenantId} and cv.contact_id = c.id
       order by cv.last_message_at desc nulls last, cv.id desc limit 1) newest on true
     where c.tenant_id = ${tx.tenantId} and c.id = any(${contactIds})`
  return new Map(
    rows.map(({ contactId, conversationId }) => [
      contactId,
      conversationId === null
        ? { mailbox: { kind: 'contact', id: contactId }, conversationId }
        : { mailbox: { kind: 'conversation', id: conversationId }, conversationId },
    ]),
  )
}
