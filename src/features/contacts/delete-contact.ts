import { Contact as ContactRow } from '../../models/contacts/contact.ts'
import type { Scope } from '../../scope.ts'
import { lockConversations } from '../conversations/lock-conversations.ts'
import type { ContactRef } from './schema.ts'

/** Erases the person: conversations, messages, runs and list entries go with the contact. */
export function deleteContact(scope: Scope, { contactId }: ContactRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    await lockConversations(tx, { column: 'contact_id', id: contactId })
    await tx.lock(ContactRow, contactId)
    await tx.query(ContactRow).delete().where('id', contactId)
    await tx.record({ type: 'contact.deleted', data: { contactId } })
    return {}
  })
}
