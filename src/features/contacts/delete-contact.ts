import { Contact as ContactRow } from '../../models/contacts/contact.ts'
import type { Scope } from '../../scope.ts'
import { deleteHistory } from '../automation/delete-history.ts'
import { lockConversationsBy } from '../automation/lock-order.ts'
import { eraseRecipients } from '../broadcast-recipients/erase-recipients.ts'
import type { CountChange } from '../counts/counter.ts'
import { recordCounts } from '../counts/record-counts.ts'
import { recordListChanges } from '../paging/anchors/record-list-changes.ts'
import type { ContactRef } from './schema.ts'

/** Deletes a contact with its conversations, messages and runs. Recipients of broadcasts stay without its data. */
export function deleteContact(scope: Scope, { contactId }: ContactRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    const owner = { column: 'contact_id', id: contactId } as const
    await lockConversationsBy(tx, owner)
    const { createdAt } = await tx.lock(ContactRow, contactId)
    await eraseRecipients(tx, contactId)
    await deleteHistory(tx, owner)
    const memberships = await deleteMemberships(tx, contactId)
    await recordCounts(tx, [{ counter: 'contacts', delta: -1 }, ...memberships])
    await tx.query(ContactRow).delete().where('id', contactId)
    await recordListChanges(tx, 'contacts', [{ id: contactId, time: createdAt }], -1)
    await tx.record({ type: 'contact.deleted', data: { contactId } })
    return {}
  })
}

/**
 * Deletes the tags and groups of a contact, and returns the changes of the counters that counted it. What a concurrent
 * transaction deletes is not returned here: that one counts it.
 */
async function deleteMemberships(tx: Scope, contactId: string): Promise<CountChange[]> {
  const { tenantId } = tx
  const tags = await tx.sql<{ ownerId: string }>('deleteTagsOfContact')`
    delete from contact_tags where tenant_id = ${tenantId} and contact_id = ${contactId} returning tag_id as owner_id`
  const groups = await tx.sql<{ ownerId: string }>('deleteGroupsOfContact')`
    delete from group_contacts where tenant_id = ${tenantId} and contact_id = ${contactId} returning group_id as owner_id`
  return [
    ...tags.map(({ ownerId }) => ({ counter: 'tag_contacts' as const, ownerId, delta: -1 })),
    ...groups.map(({ ownerId }) => ({ counter: 'group_contacts' as const, ownerId, delta: -1 })),
  ]
}
