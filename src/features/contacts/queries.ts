import { raw } from 'objection'
import { Contact as ContactRow } from '../../models/contacts/contact.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { toPhoneKey } from '../../platform/phone.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import type { Contact, ContactRef, ListContacts } from './schema.ts'

/** Contact with its tags. */
class ContactView extends ContactRow {
  declare tags: Contact['tags']
}

/** Tags are selected by a subquery: a page of contacts is one statement. */
const TAGS = raw(`coalesce((
  select json_agg(json_build_object('id', t.id, 'name', t.name, 'color', t.color) order by lower(t.name))
  from contact_tags ct join tags t on t.tenant_id = ct.tenant_id and t.id = ct.tag_id
  where ct.tenant_id = contacts.tenant_id and ct.contact_id = contacts.id), '[]') as tags`)

/** Selects contacts with their tags, for `toContact`. */
export function contactQuery(scope: Scope) {
  return scope.query(ContactView).select('contacts.*', TAGS)
}

export function toContact({ marketingConsent, consentSource, consentAt, ...row }: ContactView): Contact {
  return { ...row, consent: { marketing: marketingConsent, source: consentSource, at: consentAt } }
}

/** @throws NotFoundError */
export async function getContact(scope: Scope, { contactId }: ContactRef): Promise<Contact> {
  const row = isUuid(contactId) ? await contactQuery(scope).findOne('contacts.id', contactId) : undefined
  if (!row) throw new NotFoundError('Contact')
  return toContact(row)
}

/** Lists contacts, newest first. `total` counts all matches, even on a page past the end. */
export async function listContacts(scope: Scope, input: ListContacts): Promise<Page<Contact>> {
  if (input.groupId !== undefined && !isUuid(input.groupId)) return { items: [], total: 0 }
  const matches = filteredQuery(scope, input)
  const [total, rows] = await Promise.all([
    matches.clone().clearSelect().resultSize(),
    matches
      .orderBy([
        { column: 'contacts.createdAt', order: 'desc' },
        { column: 'contacts.id', order: 'desc' },
      ])
      .limit(input.limit)
      .offset(input.offset),
  ])
  return { items: rows.map(toContact), total }
}

function filteredQuery(scope: Scope, { q, phone, tag, groupId }: ListContacts) {
  const query = contactQuery(scope)
  if (phone)
    query.where((group) => group.where('contacts.phoneKey', toPhoneKey(phone)).orWhere('contacts.phone', phone))
  if (q) {
    const escaped = q.replaceAll(/[\\%_]/g, '\\$&')
    query.where((group) =>
      group.whereILike('contacts.name', `%${escaped}%`).orWhereLike('contacts.phone', `${escaped}%`),
    )
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
