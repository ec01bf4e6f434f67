import { raw } from 'objection'
import { Group as GroupRow } from '../../models/contacts/group.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { deleteCount } from '../counts/delete-count.ts'
import { countSql } from '../counts/read-count.ts'
import { CONTACT_ITEM, type ContactView, toContact } from '../contacts/queries.ts'
import { NEWEST_FIRST, readPage } from '../paging/read-page.ts'
import type { Contact } from '../contacts/schema.ts'
import type { Group, GroupRef, ListGroupContacts, ListGroups } from './schema.ts'

/** Group with the number of its contacts. */
class GroupView extends GroupRow {
  declare contactCount: number
}

const CONTACT_COUNT = `${countSql('group_contacts', 'groups.id')} as contact_count`

function groupQuery(scope: Scope) {
  return scope.query(GroupView).select('groups.*', raw(CONTACT_COUNT, { tenantId: scope.tenantId }))
}

/** @throws NotFoundError */
export async function getGroup(scope: Scope, { groupId }: GroupRef): Promise<Group> {
  const row = isUuid(groupId) ? await groupQuery(scope).findOne('id', groupId) : undefined
  if (!row) throw new NotFoundError('Group')
  return row
}

/** Lists groups, newest first. */
export function listGroups(scope: Scope, input: ListGroups): Promise<Page<Group>> {
  return readPage<GroupView>(
    scope,
    {
      from: 'groups t',
      id: 't.id',
      conditions: ['t.tenant_id = :tenantId'],
      order: NEWEST_FIRST,
      item: { from: 'groups', id: 'groups.id', columns: `groups.*, ${CONTACT_COUNT}` },
      bindings: {},
    },
    input,
  )
}

/** Lists the contacts of a group; the one added last comes first. */
export async function listGroupContacts(scope: Scope, { id, ...input }: ListGroupContacts): Promise<Page<Contact>> {
  const group = await scope.get(GroupRow, id)
  const page = await readPage<ContactView>(
    scope,
    {
      from: 'group_contacts t',
      id: 't.contact_id',
      conditions: ['t.tenant_id = :tenantId', 't.group_id = :groupId'],
      order: { ...NEWEST_FIRST, sort: 'addedAt' },
      total: countSql('group_contacts', ':groupId'),
      item: CONTACT_ITEM,
      bindings: { groupId: group.id },
    },
    input,
  )
  return { ...page, items: page.items.map(toContact) }
}

/** Deletes a group. Its contacts stay. */
export function deleteGroup(scope: Scope, { groupId }: GroupRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    await tx.lock(GroupRow, groupId)
    await tx.query(GroupRow).delete().where('id', groupId)
    await deleteCount(tx, { counter: 'group_contacts', ownerId: groupId })
    return {}
  })
}
