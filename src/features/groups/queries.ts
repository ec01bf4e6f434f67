import { Group as GroupRow } from '../../models/contacts.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { NotFoundError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { CONTACT_SOURCE, type ContactView, toContact } from '../contacts/queries.ts'
import type { Contact } from '../contacts/schema.ts'
import { countSql, toListTotal } from '../counts/count-sql.ts'
import { type ItemSource, readItem } from '../paging/read-items.ts'
import { NEWEST_FIRST, readPage } from '../paging/read-page.ts'
import type { Group, GroupRef, ListGroupContacts, ListGroups } from './schema.ts'

const GROUP_SOURCE: ItemSource = {
  table: sqlFragment`groups`,
  columns: (tenantId) =>
    sqlFragment`groups.*, ${countSql(tenantId, 'group_contacts', sqlFragment`groups.id`)} as contact_count`,
}

/** @throws NotFoundError */
export async function getGroup(scope: Scope, { groupId }: GroupRef): Promise<Group> {
  const row = await readItem<Group>(scope, 'getGroup', GROUP_SOURCE, groupId)
  if (!row) throw new NotFoundError('Group')
  return row
}

/** Lists groups, newest first. */
export function listGroups(scope: Scope, input: ListGroups): Promise<Page<Group>> {
  return readPage<Group>(
    scope,
    {
      name: 'listGroups',
      from: sqlFragment`groups`,
      id: sqlFragment`t.id`,
      conditions: [],
      order: NEWEST_FIRST,
      ...toListTotal(scope.tenantId, 'groups', scope.tenantId),
      item: GROUP_SOURCE,
    },
    input,
  )
}

/** Lists the contacts of a group; the one added last comes first. */
export async function listGroupContacts(
  scope: Scope,
  { groupId, ...input }: ListGroupContacts,
): Promise<Page<Contact>> {
  const group = await scope.get(GroupRow, groupId)
  const page = await readPage<ContactView>(
    scope,
    {
      name: 'listGroupContacts',
      from: sqlFragment`group_contacts`,
      id: sqlFragment`t.contact_id`,
      conditions: [sqlFragment`t.group_id = ${group.id}`],
      order: { ...NEWEST_FIRST, sort: '-addedAt' },
      ...toListTotal(scope.tenantId, 'group_contacts', group.id),
      item: CONTACT_SOURCE,
    },
    input,
  )
  return { ...page, items: page.items.map(toContact) }
}
