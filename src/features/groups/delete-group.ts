import { Group as GroupRow } from '../../models/contacts.ts'
import type { Scope } from '../../scope/scope.ts'
import type { GroupRef } from './schema.ts'

/** Deletes a group. Its contacts stay. */
export function deleteGroup(scope: Scope, { groupId }: GroupRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    await tx.lock(GroupRow, groupId)
    await tx.query(GroupRow).delete().where('id', groupId)
    return {}
  })
}
