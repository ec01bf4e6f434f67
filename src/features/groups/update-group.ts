import { Group as GroupRow } from '../../models/contacts/group.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import type { Scope } from '../../scope.ts'
import { getGroup } from './group-query.ts'
import type { Group, UpdateGroup } from './schema.ts'

export function updateGroup(scope: Scope, { id, ...columns }: UpdateGroup): Promise<Group> {
  return toUniqueNameError('group', () =>
    scope.transaction(async (tx) => {
      await tx.lock(GroupRow, id)
      await tx
        .query(GroupRow)
        .findOne('id', id)
        .patch({ ...definedFields(columns), updatedAt: tx.now() })
      return getGroup(tx, { id })
    }),
  )
}
