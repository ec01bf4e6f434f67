import { raw } from 'objection'
import { Group as GroupRow } from '../../models/contacts/group.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { Group, GroupRef } from './schema.ts'

const CONTACT_COUNT = raw(`(
  select count(*)::int from group_contacts gc
  where gc.tenant_id = groups.tenant_id and gc.group_id = groups.id) as contact_count`)

export function groupQuery(scope: Scope) {
  return scope.query(GroupRow).select('groups.*', CONTACT_COUNT)
}

export async function getGroup(scope: Scope, { id }: GroupRef): Promise<Group> {
  const row = isUuid(id) ? await groupQuery(scope).findOne('id', id) : undefined
  if (!row) throw new NotFoundError('Group')
  return row as GroupRow & Group
}
