import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { groupRows, presentGroup } from './group-rows.ts'
import type { Group, GroupRef } from './schema.ts'

export async function getGroup(scope: Scope, { id }: GroupRef): Promise<Group> {
  const row = isUuid(id) ? await groupRows(scope).findOne('groups.id', id) : undefined
  if (!row) throw new NotFoundError('Group')
  return presentGroup(row)
}
