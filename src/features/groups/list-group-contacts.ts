import { Group as GroupRow } from '../../models/contacts/group.ts'
import { GroupContact } from '../../models/contacts/group-contact.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { contactQuery, toContact } from '../contacts/contact-query.ts'
import type { Contact } from '../contacts/schema.ts'
import type { ListGroupContacts } from './schema.ts'

/** Who was added last comes first. */
export async function listGroupContacts(
  scope: Scope,
  { id, limit, offset }: ListGroupContacts,
): Promise<Page<Contact>> {
  await scope.get(GroupRow, id)
  const [total, rows] = await Promise.all([
    scope.query(GroupContact).where({ groupId: id }).resultSize(),
    contactQuery(scope)
      .joinRaw('join group_contacts gc on gc.tenant_id = contacts.tenant_id and gc.contact_id = contacts.id')
      .whereRaw('gc.group_id = ?', [id])
      .orderByRaw('gc.created_at desc, gc.contact_id desc')
      .limit(limit)
      .offset(offset),
  ])
  return { items: rows.map(toContact), total }
}
