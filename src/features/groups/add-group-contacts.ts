import { Contact as ContactRow, Group as GroupRow } from '../../models/contacts.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { changeGroupContacts } from './change-group-contacts.ts'
import { getGroup } from './queries.ts'
import type { AddGroupContacts, Group } from './schema.ts'

/**
 * Adds contacts to a group: all of them or, if one does not exist, none. Adding a contact twice leaves one.
 * @throws NotFoundError
 */
export function addGroupContacts(scope: Scope, { id: groupId, contactIds }: AddGroupContacts): Promise<Group> {
  const distinct = [...new Set(contactIds.map((contactId) => contactId.toLowerCase()))]
  return scope.transaction(async (tx) => {
    await tx.lock(GroupRow, groupId)
    if (!distinct.every(isUuid)) throw new NotFoundError('Contact')
    // Locked, so that none is deleted before it is added.
    const existing = await tx.query(ContactRow).select('id').whereIn('id', distinct).orderBy('id').forKeyShare()
    if (existing.length !== distinct.length) throw new NotFoundError('Contact')
    await changeGroupContacts(
      tx,
      distinct.map((contactId) => ({ groupId, contactId, isAdded: true })),
    )
    return getGroup(tx, { groupId })
  })
}
