import { Contact as ContactRow } from '../../models/contacts/contact.ts'
import { Group as GroupRow } from '../../models/contacts/group.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { changeGroupContacts } from './change-group-contacts.ts'
import { getGroup } from './group-query.ts'
import type { AddGroupContacts, Group } from './schema.ts'

/** All of them or, if one is not there, none. Adding a contact twice leaves one. */
export function addGroupContacts(scope: Scope, { id, contactIds }: AddGroupContacts): Promise<Group> {
  const distinct = [...new Set(contactIds.map((contactId) => contactId.toLowerCase()))]
  return scope.transaction(async (tx) => {
    await tx.lock(GroupRow, id)
    if (!distinct.every(isUuid)) throw new NotFoundError('Contact')
    // Locked, so that none is deleted between being found and being added.
    const found = await tx.query(ContactRow).select('id').whereIn('id', distinct).orderBy('id').forKeyShare()
    if (found.length !== distinct.length) throw new NotFoundError('Contact')
    await changeGroupContacts(
      tx,
      distinct.map((contactId) => ({ groupId: id, contactId, isAdded: true })),
    )
    return getGroup(tx, { id })
  })
}
