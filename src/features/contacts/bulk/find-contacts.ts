import type { Contact as ContactRow } from '../../../models/contacts.ts'
import { sqlFragment } from '../../../platform/database/statements/statement.ts'
import type { Scope } from '../../../scope/scope.ts'
import { findByPhone } from '../find-or-create-contacts.ts'
import type { Person } from './persons.ts'
import type { MatchBy } from './schema.ts'

/** A contact that a call may change; `fields` is undefined if no item has some. */
export type LockedContact = Pick<
  ContactRow,
  'id' | 'name' | 'phone' | 'email' | 'language' | 'timezone' | 'externalId'
> &
  Partial<Pick<ContactRow, 'fields'>>

type Found = { key: string; id: string }

/** Finds the contacts of persons by their keys: of several with one e-mail address two, which are too many already. */
export async function findContacts(tx: Scope, persons: Person[], matchBy: MatchBy): Promise<Map<string, string[]>> {
  if (persons.length === 0) return new Map()
  if (matchBy === 'phone') {
    const phones = persons.flatMap((person) => person.phones)
    const contacts = await findByPhone(
      tx,
      phones.map((phone) => ({ phone })),
    )
    return new Map([...contacts].map(([key, id]) => [key, [id]]))
  }
  const keys = persons.map(({ key }) => key)
  const rows = matchBy === 'email' ? await findByEmail(tx, keys) : await findByExternalId(tx, keys)
  const found = new Map<string, string[]>()
  for (const { key, id } of rows) {
    const ids = found.get(key)
    if (ids) ids.push(id)
    else found.set(key, [id])
  }
  return found
}

/** Finds contacts by the IDs that programs have given them. */
export function findByExternalId(tx: Scope, externalIds: string[]): Promise<Found[]> {
  return tx.sql<Found>('findByExternalIds')`
    select external_id as key, id from contacts where tenant_id = ${tx.tenantId} and external_id = any(${externalIds})`
}

function findByEmail(tx: Scope, emails: string[]): Promise<Found[]> {
  return tx.sql<Found>('findByEmails')`
    select keys.key, c.id from unnest(${emails}::text[]) as keys (key)
    cross join lateral (select id from contacts c
      where c.tenant_id = ${tx.tenantId} and lower(c.email) = keys.key order by c.id limit 2) c`
}

/** Locks contacts and reads what items change. Their custom fields, which may be large, are read if an item has some. */
export async function lockContacts(
  tx: Scope,
  ids: string[],
  { withFields }: { withFields: boolean },
): Promise<Map<string, LockedContact>> {
  if (ids.length === 0) return new Map()
  const rows = await tx.sql<LockedContact>('lockBulkContacts')`
    select id, name, phone, email, language, timezone, external_id ${withFields ? sqlFragment`, fields` : sqlFragment``}
    from contacts where tenant_id = ${tx.tenantId} and id = any(${ids}) order by id for no key update`
  return new Map(rows.map((row) => [row.id, row]))
}

/** Finds who has the phone numbers of persons without a contact. */
export function findPhoneOwners(
  tx: Scope,
  persons: Person[],
  found: ReadonlyMap<string, string[]>,
): Promise<Map<string, string>> {
  const phones = persons.flatMap((person) => (found.has(person.key) ? [] : person.phones))
  return findByPhone(
    tx,
    phones.map((phone) => ({ phone })),
  )
}

/** Finds who has the external IDs of the items. */
export async function findOwners(tx: Scope, persons: Person[]): Promise<Map<string, string>> {
  const externalIds = persons.flatMap(({ item }) => item.externalId ?? [])
  if (externalIds.length === 0) return new Map()
  const rows = await findByExternalId(tx, externalIds)
  return new Map(rows.map(({ key, id }) => [key, id]))
}

/** Lists the tags of contacts, in lower case. */
export async function listTagNames(tx: Scope, ids: string[]): Promise<Map<string, Set<string>>> {
  const names = new Map<string, Set<string>>()
  if (ids.length === 0) return names
  const rows = await tx.sql<{ contactId: string; name: string }>('listTagNames')`
    select ct.contact_id, lower(t.name) as name from contact_tags ct
    join tags t on t.tenant_id = ${tx.tenantId} and t.id = ct.tag_id
    where ct.tenant_id = ${tx.tenantId} and ct.contact_id = any(${ids})`
  for (const { contactId, name } of rows) names.set(contactId, (names.get(contactId) ?? new Set()).add(name))
  return names
}
