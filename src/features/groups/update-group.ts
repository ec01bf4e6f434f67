import { Group as GroupRow } from '../../models/contacts.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import type { Scope } from '../../scope/scope.ts'
import { getGroup } from './queries.ts'
import type { Group, UpdateGroup } from './schema.ts'

/** @throws ConflictError `name_taken` */
export function updateGroup(scope: Scope, { groupId, ...columns }: UpdateGroup): Promise<Group> {
  return toUniqueNameError('group', () =>
    scope.transaction(async (tx) => {
      await tx.lock(GroupRow, groupId)
      await tx
        .query(GroupRow)
        .findOne('id', groupId)
        .patch({ ...definedFields(columns), updatedAt: tx.now() })
      return getGroup(tx, { groupId })
    }),
  )
}
