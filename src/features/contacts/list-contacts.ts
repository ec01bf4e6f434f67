import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { contactQuery, toContact } from './contact-query.ts'
import type { Contact, ListContacts } from './schema.ts'

/** Newest first. `total` counts what the filters match, on every page, also past the end. */
export async function listContacts(scope: Scope, input: ListContacts): Promise<Page<Contact>> {
  if (input.groupId !== undefined && !isUuid(input.groupId)) return { items: [], total: 0 }
  const matching = filtered(scope, input)
  const [total, rows] = await Promise.all([
    matching.clone().clearSelect().resultSize(),
    matching
      .orderBy([
        { column: 'contacts.createdAt', order: 'desc' },
        { column: 'contacts.id', order: 'desc' },
      ])
      .limit(input.limit)
      .offset(input.offset),
  ])
  return { items: rows.map(toContact), total }
}

function filtered(scope: Scope, { q, phone, tag, groupId }: ListContacts) {
  const query = contactQuery(scope)
  if (phone) query.where('contacts.phone', phone)
  if (q) {
    const part = q.replaceAll(/[\\%_]/g, '\\$&')
    query.where((either) => either.whereILike('contacts.name', `%${part}%`).orWhereLike('contacts.phone', `${part}%`))
  }
  if (tag) {
    query.whereRaw(
      `exists (select 1 from contact_tags ct join tags t on t.tenant_id = ct.tenant_id and t.id = ct.tag_id
        where ct.tenant_id = contacts.tenant_id and ct.contact_id = contacts.id and lower(t.name) = lower(?))`,
      [tag],
    )
  }
  if (groupId) {
    query.whereRaw(
      `exists (select 1 from group_contacts gc
        where gc.tenant_id = contacts.tenant_id and gc.contact_id = contacts.id and gc.group_id = ?)`,
      [groupId],
    )
  }
  return query
}
