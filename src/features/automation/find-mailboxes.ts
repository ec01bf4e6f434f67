import type { Mailbox } from '../../engine/model/mailbox-key.ts'
import type { Scope } from '../../scope.ts'

export type ContactMailbox = { mailbox: Mailbox; conversationId: string | null }

/** Where what happens to contacts is taken up: in their newest conversation, or with the contact if there is none. */
export async function findMailboxes(tx: Scope, contactIds: string[]): Promise<Map<string, ContactMailbox>> {
  if (contactIds.length === 0) return new Map()
  const { rows } = await tx.db.raw<{ rows: { contactId: string; conversationId: string | null }[] }>(
    `select c.id as "contactId", newest.id as "conversationId"
     from contacts c left join lateral (
       select cv.id from conversations cv where cv.tenant_id = c.tenant_id and cv.contact_id = c.id
       order by cv.last_message_at desc nulls last, cv.id desc limit 1) newest on true
     where c.tenant_id = ? and c.id = any(?)`,
    [tx.tenantId, contactIds],
  )
  return new Map(
    rows.map(({ contactId, conversationId }) => [
      contactId,
      conversationId === null
        ? { mailbox: { kind: 'contact', id: contactId }, conversationId }
        : { mailbox: { kind: 'conversation', id: conversationId }, conversationId },
    ]),
  )
}
