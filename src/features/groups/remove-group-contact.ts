import { Group as GroupRow } from '../../models/contacts.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { changeGroupContacts } from './change-group-contacts.ts'
import type { RemoveGroupContact } from './schema.ts'

/** @throws NotFoundError when the contact is not in the group */
export function removeGroupContact(
  scope: Scope,
  { groupId, contactId }: RemoveGroupContact,
): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    await tx.lock(GroupRow, groupId)
    const changed = isUuid(contactId) ? await changeGroupContacts(tx, [{ groupId, contactId, isAdded: false }]) : []
    if (changed.length === 0) throw new NotFoundError('Contact')
    return {}
  })
}
