import type { Contact as ContactRow } from '../../models/contacts/contact.ts'
import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { toPhoneKey } from '../../platform/phone.ts'
import type { Scope } from '../../scope.ts'
import { EMPTY_PAGE, type Page } from '../../trpc/schemas.ts'
import { countSql } from '../counts/read-count.ts'
import { type ItemSource, readItem } from '../paging/read-items.ts'
import { type Order, readPage } from '../paging/read-page.ts'
import type { Contact, ContactRef, ListContacts } from './schema.ts'

/** Contact with its tags. */
export type ContactView = ContactRow & { tags: Contact['tags'] }

/** Source of `ContactView`. */
export const CONTACT_SOURCE: ItemSource = {
  table: sqlFragment`contacts`,
  columns: (tenantId) => sqlFragment`contacts.*, coalesce((
    select json_agg(json_build_object('id', tag.id, 'name', tag.name, 'color', tag.color) order by lower(tag.name))
    from contact_tags ct join tags tag on tag.tenant_id = ${tenantId} and tag.id = ct.tag_id
    where ct.tenant_id = ${tenantId} and ct.contact_id = contacts.id), '[]') as tags`,
}

export function toContact({ marketingConsent, consentSource, consentAt, ...row }: ContactView): Contact {
  return { ...row, consent: { marketing: marketingConsent, source: consentSource, at: consentAt } }
}

/** @throws NotFoundError */
export async function getContact(scope: Scope, { contactId }: ContactRef): Promise<Contact> {
  const row = await readItem<ContactView>(scope, 'getContact', CONTACT_SOURCE, contactId)
  if (!row) throw new NotFoundError('Contact')
  return toContact(row)
}

const CREATED_AT = { value: sqlFragment`t.created_at`, kind: 'time' } as const
const NAME = { value: sqlFragment`search_text(t.name)`, kind: 'text' } as const
const ORDERS: Record<ListContacts['sort'], Omit<Order, 'sort'>> = {
  createdAt: { ...CREATED_AT, direction: 'asc' },
  '-createdAt': { ...CREATED_AT, direction: 'desc' },
  name: { ...NAME, direction: 'asc' },
  '-name': { ...NAME, direction: 'desc' },
}

/** Lists contacts, by default newest first. */
export async function listContacts(scope: Scope, input: ListContacts): Promise<Page<Contact>> {
  const { sort, groupId } = input
  if (groupId !== undefined && !isUuid(groupId)) return EMPTY_PAGE
  const conditions = toConditions(scope, input)
  const page = await readPage<ContactView>(
    scope,
    {
      name: 'listContacts',
      from: sqlFragment`contacts`,
      id: sqlFragment`t.id`,
      conditions,
      order: { sort, ...ORDERS[sort] },
      total: conditions.length === 0 ? countSql(scope.tenantId, 'contacts', scope.tenantId) : undefined,
      item: CONTACT_SOURCE,
    },
    input,
  )
  return { ...page, items: page.items.map(toContact) }
}

function toConditions({ tenantId }: Scope, { q, phone, tag, groupId }: ListContacts): SqlFragment[] {
  const conditions: SqlFragment[] = []
  if (phone) conditions.push(sqlFragment`(t.phone_key = ${toPhoneKey(phone)} or t.phone = ${phone})`)
  if (q) conditions.push(searchSql(q.replaceAll(/[\\%_]/g, '\\$&'), [...q].length))
  if (tag) {
    conditions.push(sqlFragment`t.id in (
      select ct.contact_id from contact_tags ct join tags tag on tag.tenant_id = ${tenantId} and tag.id = ct.tag_id
      where ct.tenant_id = ${tenantId} and lower(tag.name) = lower(${tag}))`)
  }
  if (groupId) {
    conditions.push(sqlFragment`t.id in (
      select gc.contact_id from group_contacts gc where gc.tenant_id = ${tenantId} and gc.group_id = ${groupId})`)
  }
  return conditions
}

/** An index of trigrams finds parts of at least three characters; fewer are looked up as the beginning of a word. */
const PART_MIN = 3

/** Returns the condition of the contacts that a pattern finds; each part of it has an index of its own. */
function searchSql(pattern: string, length: number): SqlFragment {
  const name =
    length < PART_MIN
      ? sqlFragment`search_text(t.name) like search_text(${`${pattern}%`}) or search_text(t.name) like search_text(${`% ${pattern}%`})`
      : sqlFragment`search_text(t.name) like search_text(${`%${pattern}%`})`
  const prefix = `${pattern}%`
  return sqlFragment`(${name} or t.phone like ${prefix} or lower(t.email) like lower(${prefix})
    or t.external_id like ${prefix})`
}
