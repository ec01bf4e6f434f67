import { NIL_ID } from '../../../platform/ids.ts'
import type { Scope } from '../../../scope/scope.ts'
import { findOrCreateContacts } from '../../contacts/find-or-create-contacts.ts'
import type { Audience, AudienceFilter } from './schema.ts'
import { joinFragments, type SqlFragment, sqlFragment } from '../../../platform/database/statements/statement.ts'

/** Contacts per portion. A filter looks at more contacts than it finds, and finds no more than these. */
const PORTION = 1000
const FILTER_PORTION = 5000

/** A part of an audience that lists its contacts in a fixed order. */
export type Source =
  | { kind: 'phones' }
  | { kind: 'group' | 'tag'; id: string }
  | { kind: 'contacts'; ids: string[] }
  | { kind: 'filter'; filter: AudienceFilter }

export type Portion = {
  /** `params` are those of this contact alone. */
  contacts: { contactId: string; params: Record<string, string> }[]
  /** Position of the next portion; null if this is the last one. */
  after: string | null
}

export function listSources({ groupIds = [], tagIds = [], contactIds = [], filter }: Audience): Source[] {
  return [
    { kind: 'phones' },
    ...groupIds.map((id) => ({ kind: 'group' as const, id })),
    ...tagIds.map((id) => ({ kind: 'tag' as const, id })),
    ...(contactIds.length > 0 ? [{ kind: 'contacts' as const, ids: contactIds }] : []),
    ...(filter ? [{ kind: 'filter' as const, filter }] : []),
  ]
}

/** Lists the contacts of a source after a position, by its index: a portion costs the same wherever it is. */
export async function readPortion(
  tx: Scope,
  broadcastId: string,
  source: Source,
  after: string | null,
): Promise<Portion> {
  switch (source.kind) {
    case 'phones':
      return readPhones(tx, broadcastId, Number(after ?? -1))
    case 'filter':
      return readFiltered(tx, source.filter, after)
    case 'group':
    case 'tag':
    case 'contacts':
      return toPortion(await listIds(tx, source, after))
  }
}

async function listIds(
  scope: Scope,
  source: Extract<Source, { kind: 'group' | 'tag' | 'contacts' }>,
  after: string | null,
): Promise<string[]> {
  const { tenantId } = scope
  const from = {
    group: () => sqlFragment`contact_id from group_contacts where tenant_id = ${tenantId} and group_id`,
    tag: () => sqlFragment`contact_id from contact_tags where tenant_id = ${tenantId} and tag_id`,
  }
  const rows =
    source.kind === 'contacts'
      ? await scope.sql<{ contactId: string }>('listContactsOfAudience')`
          select id as contact_id from contacts
          where tenant_id = ${tenantId} and id = any(${source.ids}) and id > ${after ?? NIL_ID} order by id limit ${PORTION}`
      : await scope.sql<{ contactId: string }>('listMembersOfAudience')`
          select ${from[source.kind]()} = ${source.id} and contact_id > ${after ?? NIL_ID} order by contact_id limit ${PORTION}`
  return rows.map(({ contactId }) => contactId)
}

function toPortion(ids: string[]): Portion {
  return {
    contacts: ids.map((contactId) => ({ contactId, params: {} })),
    after: ids.length === PORTION ? (ids.at(-1) ?? null) : null,
  }
}

export type PhoneEntry = { position: number; phone: string; name: string | null; params: Record<string, string> }

/** Lists phone numbers of an audience after a position. */
export function listPhones(scope: Scope, broadcastId: string, after: number): Promise<PhoneEntry[]> {
  return scope.sql<PhoneEntry>('listPhones')`
    select position, phone, name, params from broadcast_phones
     where tenant_id = ${scope.tenantId} and broadcast_id = ${broadcastId} and position > ${after} order by position limit ${PORTION}`
}

async function readPhones(tx: Scope, broadcastId: string, after: number): Promise<Portion> {
  const rows = await listPhones(tx, broadcastId, after)
  const found = await findOrCreateContacts(
    tx,
    rows.map(({ phone, name }) => ({ phone, name: name ?? undefined })),
  )
  const last = rows.at(-1)
  return {
    contacts: found.map(({ contactId }, index) => ({ contactId, params: rows[index]?.params ?? {} })),
    after: last && isFullPortion(rows) ? String(last.position) : null,
  }
}

export function isFullPortion(rows: unknown[]): boolean {
  return rows.length === PORTION
}

/** Conditions of a filter on the contact `c`. */
function toConditions(filter: AudienceFilter): SqlFragment[] {
  const { marketingConsent, language, country, fields, lastInboundAfter, lastInboundBefore } = filter
  const { createdAfter, createdBefore } = filter
  return [
    marketingConsent === undefined ? [] : sqlFragment`c.marketing_consent = ${marketingConsent}`,
    language === undefined ? [] : sqlFragment`c.language = ${language}`,
    country === undefined ? [] : sqlFragment`c.country = ${country}`,
    fields === undefined ? [] : sqlFragment`c.fields @> ${JSON.stringify(fields)}::jsonb`,
    lastInboundAfter === undefined ? [] : sqlFragment`c.last_inbound_at >= ${lastInboundAfter}`,
    lastInboundBefore === undefined
      ? []
      : sqlFragment`(c.last_inbound_at is null or c.last_inbound_at < ${lastInboundBefore})`,
    createdAfter === undefined ? [] : sqlFragment`c.created_at >= ${createdAfter}`,
    createdBefore === undefined ? [] : sqlFragment`c.created_at < ${createdBefore}`,
  ].flat()
}

async function readFiltered(scope: Scope, filter: AudienceFilter, after: string | null): Promise<Portion> {
  const conditions = [sqlFragment`true`, ...toConditions(filter)]
  const rows = await scope.sql<{ id: string; isMatch: boolean | null }>('readFilteredContacts')`
    select c.id, ${joinFragments(conditions, ' and ')} as is_match from contacts c
    where c.tenant_id = ${scope.tenantId} and c.id > ${after ?? NIL_ID} order by c.id limit ${FILTER_PORTION}`
  const found = rows.flatMap(({ id, isMatch }) => (isMatch ? [id] : []))
  const ids = found.slice(0, PORTION)
  const isCut = ids.length < found.length
  const last = isCut ? ids.at(-1) : rows.length === FILTER_PORTION ? rows.at(-1)?.id : null
  return { contacts: ids.map((contactId) => ({ contactId, params: {} })), after: last ?? null }
}
