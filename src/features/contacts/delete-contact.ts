import { Contact as ContactRow } from '../../models/contacts/contact.ts'
import { selectRows } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope.ts'
import { deleteHistory } from '../automation/delete-history.ts'
import { lockConversationsBy } from '../automation/lock-order.ts'
import { eraseRecipients } from '../broadcast-recipients/erase-recipients.ts'
import { recordCounts } from '../counts/record-counts.ts'
import type { ContactRef } from './schema.ts'

/** Deletes a contact with its conversations, messages and runs. Recipients of broadcasts stay without its data. */
export function deleteContact(scope: Scope, { contactId }: ContactRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    const owner = { column: 'contact_id', id: contactId } as const
    await lockConversationsBy(tx, owner)
    await tx.lock(ContactRow, contactId)
    await eraseRecipients(tx, contactId)
    await deleteHistory(tx, owner)
    await recordCounts(tx, await listCounters(tx, contactId))
    await tx.query(ContactRow).delete().where('id', contactId)
    await tx.record({ type: 'contact.deleted', data: { contactId } })
    return {}
  })
}

/** Returns the changes of the counters that counted the contact. The caller holds its lock, so that none is added. */
async function listCounters(tx: Scope, contactId: string) {
  const memberships = await selectRows<{ counter: 'group_contacts' | 'tag_contacts'; ownerId: string }>(
    tx.db,
    `select 'tag_contacts' as counter, tag_id as owner_id from contact_tags
     where tenant_id = :tenantId and contact_id = :contactId
     union all
     select 'group_contacts', group_id from group_contacts where tenant_id = :tenantId and contact_id = :contactId`,
    { tenantId: tx.tenantId, contactId },
  )
  return [{ counter: 'contacts' as const }, ...memberships].map((counter) => ({ ...counter, delta: -1 }))
}
