import { raw } from 'objection'
import { Contact as ContactRow } from '../../models/contacts/contact.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { toPhoneKey } from '../../platform/phone.ts'
import type { Scope } from '../../scope.ts'
import { EMPTY_PAGE, type Page } from '../../trpc/schemas.ts'
import { countSql } from '../counts/read-count.ts'
import { type Order, readPage } from '../paging/read-page.ts'
import type { Contact, ContactRef, ListContacts } from './schema.ts'

/** Contact with its tags. */
export class ContactView extends ContactRow {
  declare tags: Contact['tags']
}

/** Tags are selected by a subquery: a page of contacts is one statement. */
const TAGS = `coalesce((
  select json_agg(json_build_object('id', tag.id, 'name', tag.name, 'color', tag.color) order by lower(tag.name))
  from contact_tags ct join tags tag on tag.tenant_id = :tenantId and tag.id = ct.tag_id
  where ct.tenant_id = :tenantId and ct.contact_id = contacts.id), '[]') as tags`

/** Contacts with their tags in a page, for `toContact`. */
export const CONTACT_ITEM = { from: 'contacts', id: 'contacts.id', columns: `contacts.*, ${TAGS}` }

/** Selects contacts with their tags, for `toContact`. */
export function contactQuery(scope: Scope) {
  return scope.query(ContactView).select('contacts.*', raw(TAGS, { tenantId: scope.tenantId }))
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

const ORDERS = {
  createdAt: { value: 't.created_at', kind: 'time', direction: 'asc' },
  '-createdAt': { value: 't.created_at', kind: 'time', direction: 'desc' },
  name: { value: 'search_text(t.name)', kind: 'text', direction: 'asc' },
  '-name': { value: 'search_text(t.name)', kind: 'text', direction: 'desc' },
} as const satisfies Record<ListContacts['sort'], Omit<Order, 'sort'>>

/** Lists contacts, by default newest first. Without filters `total` is exact, with filters it may be capped. */
export async function listContacts(scope: Scope, input: ListContacts): Promise<Page<Contact>> {
  const { q, phone, tag, groupId, sort } = input
  if (groupId !== undefined && !isUuid(groupId)) return EMPTY_PAGE
  const filters = [
    ...(phone ? ['(t.phone_key = :phoneKey or t.phone = :phone)'] : []),
    ...(q ? [searchSql(q)] : []),
    ...(tag ? [TAG_SQL] : []),
    ...(groupId ? [GROUP_SQL] : []),
  ]
  const page = await readPage<ContactView>(
    scope,
    {
      from: 'contacts t',
      id: 't.id',
      conditions: ['t.tenant_id = :tenantId', ...filters],
      order: { sort, ...ORDERS[sort] },
      total: filters.length === 0 ? countSql('contacts', ':tenantId') : undefined,
      item: CONTACT_ITEM,
      bindings: {
        ...definedFields({ phone, tag, groupId }),
        ...(phone ? { phoneKey: toPhoneKey(phone) } : {}),
        ...(q ? { prefix: `${escapeLike(q)}%`, part: `%${escapeLike(q)}%`, nextWord: `% ${escapeLike(q)}%` } : {}),
      },
    },
    input,
  )
  return { ...page, items: page.items.map(toContact) }
}

const TAG_SQL = `t.id in (
  select ct.contact_id from contact_tags ct join tags tag on tag.tenant_id = :tenantId and tag.id = ct.tag_id
  where ct.tenant_id = :tenantId and lower(tag.name) = lower(:tag))`

const GROUP_SQL = `t.id in (
  select gc.contact_id from group_contacts gc where gc.tenant_id = :tenantId and gc.group_id = :groupId)`

/** A trigram index finds parts of three characters and more; for less it needs the beginning of a word. */
const PART_MIN = 3

/** SQL of the contacts that a text finds, each condition with an index of its own. */
function searchSql(q: string): string {
  const name =
    [...q].length < PART_MIN
      ? `(search_text(t.name) like search_text(:prefix) or search_text(t.name) like search_text(:nextWord))`
      : `search_text(t.name) like search_text(:part)`
  return `(${name} or t.phone like :prefix or lower(t.email) like lower(:prefix) or t.external_id like :prefix)`
}

function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, '\\$&')
}
