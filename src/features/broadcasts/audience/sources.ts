import { definedFields } from '../../../platform/defined-fields.ts'
import { selectRows } from '../../../platform/database/sql.ts'
import type { Scope } from '../../../scope.ts'
import { findOrCreateContacts } from '../../contacts/find-or-create-contacts.ts'
import type { Audience, AudienceFilter } from './schema.ts'

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

const NO_ID = '00000000-0000-0000-0000-000000000000'

const LISTS = {
  group: `select contact_id from group_contacts where tenant_id = :tenantId and group_id = :id and contact_id > :after
    order by contact_id limit :limit`,
  tag: `select contact_id from contact_tags where tenant_id = :tenantId and tag_id = :id and contact_id > :after
    order by contact_id limit :limit`,
  contacts: `select id as contact_id from contacts where tenant_id = :tenantId and id = any(:ids) and id > :after
    order by id limit :limit`,
}

async function listIds(
  { db, tenantId }: Scope,
  source: Extract<Source, { kind: 'group' | 'tag' | 'contacts' }>,
  after: string | null,
): Promise<string[]> {
  const target = source.kind === 'contacts' ? { ids: source.ids } : { id: source.id }
  const rows = await selectRows<{ contactId: string }>(db, LISTS[source.kind], {
    tenantId,
    ...target,
    after: after ?? NO_ID,
    limit: PORTION,
  })
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
export function listPhones({ db, tenantId }: Scope, broadcastId: string, after: number): Promise<PhoneEntry[]> {
  return selectRows(
    db,
    `select position, phone, name, params from broadcast_phones
     where tenant_id = :tenantId and broadcast_id = :broadcastId and position > :after order by position limit :limit`,
    { tenantId, broadcastId, after, limit: PORTION },
  )
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
function toCondition(filter: AudienceFilter): string {
  const conditions = [
    filter.marketingConsent === undefined ? [] : 'c.marketing_consent = :marketingConsent',
    filter.language === undefined ? [] : 'c.language = :language',
    filter.country === undefined ? [] : 'c.country = :country',
    filter.fields === undefined ? [] : 'c.fields @> :fields::jsonb',
    filter.lastInboundAfter === undefined ? [] : 'c.last_inbound_at >= :lastInboundAfter',
    filter.lastInboundBefore === undefined
      ? []
      : '(c.last_inbound_at is null or c.last_inbound_at < :lastInboundBefore)',
    filter.createdAfter === undefined ? [] : 'c.created_at >= :createdAfter',
    filter.createdBefore === undefined ? [] : 'c.created_at < :createdBefore',
  ].flat()
  return conditions.length > 0 ? conditions.join(' and ') : 'true'
}

async function readFiltered({ db, tenantId }: Scope, filter: AudienceFilter, after: string | null): Promise<Portion> {
  const { fields, ...values } = filter
  const rows = await selectRows<{ id: string; isMatch: boolean | null }>(
    db,
    `select c.id, ${toCondition(filter)} as is_match from contacts c
     where c.tenant_id = :tenantId and c.id > :after order by c.id limit :limit`,
    {
      tenantId,
      ...definedFields(values),
      ...(fields ? { fields: JSON.stringify(fields) } : {}),
      after: after ?? NO_ID,
      limit: FILTER_PORTION,
    },
  )
  const found = rows.flatMap(({ id, isMatch }) => (isMatch ? [id] : []))
  const ids = found.slice(0, PORTION)
  const isCut = ids.length < found.length
  const last = isCut ? ids.at(-1) : rows.length === FILTER_PORTION ? rows.at(-1)?.id : null
  return { contacts: ids.map((contactId) => ({ contactId, params: {} })), after: last ?? null }
}
