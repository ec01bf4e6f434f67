import { Group as GroupRow } from '../../models/contacts.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import { definedFields } from '../../platform/fields.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { getGroup } from './queries.ts'
import type { CreateGroup, Group, GroupRef, UpdateGroup } from './schema.ts'

/** @throws ConflictError `name_taken`, `too_many_groups` */
export function createGroup(scope: Scope, { name, description = null }: CreateGroup): Promise<Group> {
  return toUniqueNameError('group', () =>
    scope.transaction(async (tx) => {
      await assertRowLimit(tx, 'groups')
      const groupId = newId()
      const now = tx.now()
      await tx.query(GroupRow).insert({ id: groupId, name, description, createdAt: now, updatedAt: now })
      return getGroup(tx, { groupId })
    }),
  )
}

/** @throws ConflictError `name_taken` */
export function updateGroup(scope: Scope, { groupId, ...columns }: UpdateGroup): Promise<Group> {
  return toUniqueNameError('group', () =>
    scope.transaction(async (tx) => {
      tx.audit?.compareWith(await tx.lock(GroupRow, groupId))
      await tx
        .query(GroupRow)
        .findOne('id', groupId)
        .patch({ ...definedFields(columns), updatedAt: tx.now() })
      return getGroup(tx, { groupId })
    }),
  )
}

/** Deletes a group. Its contacts stay. */
export function deleteGroup(scope: Scope, { groupId }: GroupRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    await tx.lock(GroupRow, groupId)
    await tx.query(GroupRow).delete().where('id', groupId)
    return {}
  })
}
