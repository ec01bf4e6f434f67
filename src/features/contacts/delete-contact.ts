import { Contact as ContactRow } from '../../models/contacts.ts'
import type { Scope } from '../../scope/scope.ts'
import { deleteHistory, shrinkHistory } from '../automation/delete-history.ts'
import { lockConversationsBy } from '../automation/lock-order.ts'
import { eraseRecipients } from '../broadcast-recipients/erase-recipients.ts'
import type { ContactRef } from './schema.ts'

/**
 * Deletes a contact with its conversations, messages and runs. Recipients of broadcasts stay without its data. Most of a
 * long history is deleted before; if that is interrupted, the contact is still there with the rest.
 */
export async function deleteContact(scope: Scope, { contactId }: ContactRef): Promise<Record<string, never>> {
  await shrinkHistory(scope, contactId)
  return scope.transaction(async (tx) => {
    const owner = { column: 'contact_id', id: contactId } as const
    await lockConversationsBy(tx, owner)
    await tx.lock(ContactRow, contactId)
    await eraseRecipients(tx, contactId)
    await deleteHistory(tx, owner)
    await tx.query(ContactRow).delete().where('id', contactId)
    await tx.record({ type: 'contact.deleted', data: { contactId } })
    return {}
  })
}
