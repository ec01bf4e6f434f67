import { Group as GroupRow } from '../../models/contacts/group.ts'
import type { Scope } from '../../scope.ts'
import type { GroupRef } from './schema.ts'

/** Its contacts stay. */
export function deleteGroup(scope: Scope, { id }: GroupRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    await tx.lock(GroupRow, id)
    await tx.query(GroupRow).delete().where('id', id)
    return {}
  })
}
