import type { Contact as ContactRow } from '../../models/contacts.ts'
import { joinFragments, sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { removeTrunkZero, toPhoneKey } from '../../platform/phone.ts'
import type { Scope } from '../../scope/scope.ts'
import { EMPTY_PAGE, type Page } from '../../trpc/schemas.ts'
import { countSql, keptCountSql, toListTotal } from '../counts/count-sql.ts'
import { type ItemSource, readItem } from '../paging/read-items.ts'
import { readPage } from '../paging/read-page.ts'
import type { Order } from '../paging/walk.ts'
import type { Contact, ContactRef, ListContacts } from './schema.ts'

/** Contact with its tags. */
export type ContactView = Omit<Contact, 'consent'> &
  Pick<ContactRow, 'marketingConsent' | 'consentSource' | 'consentAt'>

/** Source of `ContactView`. */
export const CONTACT_SOURCE: ItemSource = {
  table: sqlFragment`contacts`,
  columns: (tenantId) => sqlFragment`contacts.id, contacts.name, contacts.phone, contacts.email, contacts.username,
    contacts.language, contacts.country, contacts.timezone, contacts.fields, contacts.marketing_consent,
    contacts.consent_source, contacts.consent_at, contacts.blocked, contacts.external_id, contacts.source,
    contacts.last_inbound_at, contacts.last_outbound_at, contacts.created_at, contacts.updated_at, coalesce((
    select json_agg(json_build_object('id', tag.id, 'name', tag.name, 'color', tag.color) order by lower(tag.name))
    from contact_tags ct join tags tag on tag.tenant_id = ${tenantId} and tag.id = ct.tag_id
    where ct.tenant_id = ${tenantId} and ct.contact_id = contacts.id), '[]') as tags`,
}

/** Names each field, as copying the others is slow in a list. */
export function toContact(row: ContactView): Contact {
  return {
    id: row.id,
    name: row.name,
    phone: row.phone,
    email: row.email,
    username: row.username,
    language: row.language,
    country: row.country,
    timezone: row.timezone,
    fields: row.fields,
    tags: row.tags,
    consent: { marketing: row.marketingConsent, source: row.consentSource, at: row.consentAt },
    blocked: row.blocked,
    externalId: row.externalId,
    source: row.source,
    lastInboundAt: row.lastInboundAt,
    lastOutboundAt: row.lastOutboundAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
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

/** Reading what a search finds in order reads each contact: more than this are counted without it. */
const FOUND_WITH_PAGE = 100

/** A tag or group with more contacts is large. */
const SMALL_SET_MAX = 1000

/** Lists contacts, by default newest first. */
export async function listContacts(scope: Scope, input: ListContacts): Promise<Page<Contact>> {
  const { sort } = input
  const filter = await readFilter(scope, input)
  if (!filter) return EMPTY_PAGE
  const { sets, conditions } = filter
  const [only] = conditions.length === 1 ? sets : []
  const ofAll = conditions.length === 0 ? toListTotal(scope.tenantId, 'contacts', scope.tenantId) : undefined
  const page = await readPage<ContactView>(
    scope,
    {
      name: 'listContacts',
      from: sqlFragment`contacts`,
      id: sqlFragment`t.id`,
      conditions,
      order: { sort, ...ORDERS[sort] },
      ...(only && isLarge(only) ? { total: only.count, kept: only.kept } : ofAll),
      ...(input.q === undefined ? {} : { countedWithPage: FOUND_WITH_PAGE }),
      item: CONTACT_SOURCE,
    },
    input,
  )
  return { ...page, items: page.items.map(toContact) }
}

export type ContactFilter = Pick<ListContacts, 'q' | 'phone' | 'tag' | 'groupId'>

/** Returns the conditions of the contacts `t` that a filter finds; undefined if it finds none. */
export async function readFilter(
  scope: Scope,
  input: ContactFilter,
): Promise<{ sets: ContactSet[]; conditions: SqlFragment[] } | undefined> {
  if (input.groupId !== undefined && !isUuid(input.groupId)) return undefined
  const sets = await readSets(scope, input)
  const others = toConditions(input)
  return { sets, conditions: [...others, ...sets.map((set, index) => isInSetSql(set, others.length + index > 0))] }
}

function toConditions({ q, phone }: ContactFilter): SqlFragment[] {
  return [
    ...(phone ? [sqlFragment`(t.phone_key = ${toPhoneKey(phone)} or t.phone = ${phone})`] : []),
    ...(q ? [searchSql(q)] : []),
  ]
}

/** The contacts of a tag or a group, with their number, and the SQL of the number that triggers keep. */
type ContactSet = {
  count: number
  kept: SqlFragment
  /** Returns the SQL of the rows, all of them or those of the contact `t`. */
  rows: (isContact: SqlFragment) => SqlFragment
}

const IS_ANY = sqlFragment``
const IS_CONTACT = sqlFragment`and member.contact_id = t.id`

async function readSets(scope: Scope, { tag, groupId }: ContactFilter): Promise<ContactSet[]> {
  const { tenantId } = scope
  const sets: ContactSet[] = []
  if (tag) {
    const [row] = await scope.sql<{ id: string; count: number }>('findTag')`
      select tags.id, ${countSql(tenantId, 'tag_contacts', sqlFragment`tags.id`)} as count from tags
      where tags.tenant_id = ${tenantId} and lower(tags.name) = lower(${tag})`
    const rows: ContactSet['rows'] = (isContact) => sqlFragment`select member.contact_id from contact_tags member
      where member.tenant_id = ${tenantId} and member.tag_id = ${row?.id ?? null} ${isContact}`
    const kept = keptCountSql(tenantId, 'tag_contacts', sqlFragment`${row?.id ?? null}`)
    sets.push({ count: row?.count ?? 0, kept, rows })
  }
  if (groupId) {
    const [row] = await scope.sql<{ count: number }>('countGroup')`
      select ${countSql(tenantId, 'group_contacts', groupId)} as count`
    const rows: ContactSet['rows'] = (isContact) => sqlFragment`select member.contact_id from group_contacts member
      where member.tenant_id = ${tenantId} and member.group_id = ${groupId} ${isContact}`
    sets.push({ count: row?.count ?? 0, kept: keptCountSql(tenantId, 'group_contacts', groupId), rows })
  }
  return sets.sort((one, other) => one.count - other.count)
}

function isLarge({ count }: ContactSet): boolean {
  return count > SMALL_SET_MAX
}

/**
 * A small set is read first, and its contacts are looked up; the contacts are looked up in a large one. Contacts that another
 * condition has found are looked up one by one: joined, two sets are compared pair by pair if there are no statistics yet.
 */
function isInSetSql(set: ContactSet, isFound: boolean): SqlFragment {
  if (isFound && isLarge(set)) return sqlFragment`exists (${set.rows(IS_CONTACT)} offset 0)`
  const all = set.rows(IS_ANY)
  return isLarge(set) ? sqlFragment`t.id in (${all})` : sqlFragment`t.id = any(array(${all}))`
}

/** An index of trigrams finds parts of at least three characters; fewer are looked up as the beginning of a word. */
const PART_MIN = 3

/** Returns the condition of the contacts that a search finds; each part of it has an index of its own. */
function searchSql(q: string): SqlFragment {
  const pattern = q.replaceAll(/[\\%_]/g, '\\$&')
  const name =
    [...q].length < PART_MIN
      ? sqlFragment`search_text(t.name) like search_text(${`${pattern}%`}) or search_text(t.name) like search_text(${`% ${pattern}%`})`
      : sqlFragment`search_text(t.name) like search_text(${`%${pattern}%`})`
  const prefix = `${pattern}%`
  return sqlFragment`(${name} or lower(t.email) like lower(${prefix}) or t.external_id like ${prefix} ${orPhoneSql(q)})`
}

/** Without the zeros that are dialed before a number, it is only looked for if it is about a whole one. */
const DIALED_MIN = 6

/** Digits, spaces and punctuation: dashes of any kind, and the invisible marks of direction that copied numbers have. */
const NUMBER = /^[\d\s()+./\p{Pd}\p{Cf}]+$/u

/** Adds the contacts with the digits of `q` in their number, with any punctuation; after a plus at its beginning. */
function orPhoneSql(q: string): SqlFragment {
  if (!NUMBER.test(q)) return sqlFragment``
  const visible = q.replaceAll(/\p{Cf}/gu, '').trim()
  const digits = toDigits(visible)
  if (visible.startsWith('+')) {
    const dialedAbroad = toDigits(removeTrunkZero(visible))
    return orAny([...new Set([digits, dialedAbroad])].map((start) => sqlFragment`t.phone like ${`+${start}%`}`))
  }
  const dialed = digits.replace(/^0+/, '')
  const isDialed = dialed !== digits && dialed.length >= DIALED_MIN
  const parts = [...(digits.length >= PART_MIN ? [digits] : []), ...(isDialed ? [dialed] : [])]
  return orAny(parts.map((part) => sqlFragment`ltrim(t.phone, '+') like ${`%${part}%`}`))
}

function toDigits(text: string): string {
  return text.replaceAll(/\D/g, '')
}

function orAny(conditions: SqlFragment[]): SqlFragment {
  return joinFragments(
    conditions.map((condition) => sqlFragment`or ${condition}`),
    ' ',
  )
}
