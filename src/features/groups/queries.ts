import { raw } from 'objection'
import { Group as GroupRow } from '../../models/contacts/group.ts'
import { GroupContact } from '../../models/contacts/group-contact.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { contactQuery, toContact } from '../contacts/queries.ts'
import type { Contact } from '../contacts/schema.ts'
import type { Group, GroupRef, ListGroupContacts, ListGroups } from './schema.ts'

/** Group with the number of its contacts. */
class GroupView extends GroupRow {
  declare contactCount: number
}

const CONTACT_COUNT = raw(`(
  select count(*)::int from group_contacts gc
  where gc.tenant_id = groups.tenant_id and gc.group_id = groups.id) as contact_count`)

function groupQuery(scope: Scope) {
  return scope.query(GroupView).select('groups.*', CONTACT_COUNT)
}

/** @throws NotFoundError */
export async function getGroup(scope: Scope, { groupId }: GroupRef): Promise<Group> {
  const row = isUuid(groupId) ? await groupQuery(scope).findOne('id', groupId) : undefined
  if (!row) throw new NotFoundError('Group')
  return row
}

/** Lists groups, newest first. */
export async function listGroups(scope: Scope, { limit, offset }: ListGroups): Promise<Page<Group>> {
  const [total, items] = await Promise.all([
    scope.query(GroupRow).resultSize(),
    groupQuery(scope)
      .orderBy([
        { column: 'createdAt', order: 'desc' },
        { column: 'id', order: 'desc' },
      ])
      .limit(limit)
      .offset(offset),
  ])
  return { items, total }
}

/** Lists the contacts of a group; the one added last comes first. */
export async function listGroupContacts(
  scope: Scope,
  { id: groupId, limit, offset }: ListGroupContacts,
): Promise<Page<Contact>> {
  await scope.get(GroupRow, groupId)
  const [total, rows] = await Promise.all([
    scope.query(GroupContact).where({ groupId }).resultSize(),
    contactQuery(scope)
      .joinRaw('join group_contacts gc on gc.tenant_id = contacts.tenant_id and gc.contact_id = contacts.id')
      .whereRaw('gc.group_id = ?', [groupId])
      .orderByRaw('gc.created_at desc, gc.contact_id desc')
      .limit(limit)
      .offset(offset),
  ])
  return { items: rows.map(toContact), total }
}

/** Deletes a group. Its contacts stay. */
export function deleteGroup(scope: Scope, { groupId }: GroupRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    await tx.lock(GroupRow, groupId)
    await tx.query(GroupRow).delete().where('id', groupId)
    return {}
  })
}
