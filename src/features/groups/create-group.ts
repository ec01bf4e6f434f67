import { Group as GroupRow } from '../../models/contacts/group.ts'
import { newId } from '../../platform/ids.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import type { Scope } from '../../scope.ts'
import { getGroup } from './group-query.ts'
import type { CreateGroup, Group } from './schema.ts'

export function createGroup(scope: Scope, { name, description = null }: CreateGroup): Promise<Group> {
  return toUniqueNameError('group', () =>
    scope.transaction(async (tx) => {
      const id = newId()
      const now = tx.now()
      await tx.query(GroupRow).insert({ id, name, description, createdAt: now, updatedAt: now })
      return getGroup(tx, { id })
    }),
  )
}
