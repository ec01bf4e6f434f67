import { Group as GroupRow } from '../../models/group.ts'
import { GroupContact } from '../../models/group-contact.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { RemoveGroupContact } from './schema.ts'

export function removeGroupContact(
  scope: Scope,
  { id, contactId }: RemoveGroupContact,
): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    await tx.lock(GroupRow, id)
    const removed = isUuid(contactId) ? await tx.query(GroupContact).delete().where({ groupId: id, contactId }) : 0
    if (removed === 0) throw new NotFoundError('Contact')
    return {}
  })
}
