import { Contact as ContactRow } from '../../../models/contacts.ts'
import type { Scope } from '../../../scope/scope.ts'
import { type Person, toKey } from './persons.ts'
import type { MatchBy } from './schema.ts'

/** Finds the contacts of persons, by their keys. Several contacts may have one e-mail address. */
export async function findContacts(
  tx: Scope,
  persons: Person[],
  matchBy: MatchBy,
  { isLocked = false } = {},
): Promise<Map<string, ContactRow[]>> {
  const keys = persons.map(({ key }) => key)
  const phones = persons.flatMap(({ item }) => item.phone ?? [])
  const query = tx.query(ContactRow).orderBy('id')
  if (matchBy === 'externalId') void query.whereIn('externalId', keys)
  else if (matchBy === 'email') void query.whereRaw('lower(email) = any(?)', [keys])
  // A contact without a match key is found by its exact number.
  else
    void query.where((either) =>
      either.whereIn('phoneKey', keys).orWhere((exact) => exact.whereIn('phone', phones).whereNull('phoneKey')),
    )
  const rows = await (isLocked ? query.forUpdate() : query)
  const found = new Map<string, ContactRow[]>()
  for (const row of rows) {
    const key = matchBy === 'phone' ? (row.phoneKey ?? toKey(row, matchBy)) : toKey(row, matchBy)
    if (key !== null) found.set(key, [...(found.get(key) ?? []), row])
  }
  return found
}

/** Contacts by what only one of them may have. */
export class Owners {
  readonly #owners: Map<string, string>

  constructor(owners: Map<string, string>) {
    this.#owners = owners
  }

  /** Returns false if another contact has the value, or gets it by this call. */
  claim(value: string, contactId: string): boolean {
    const owner = this.#owners.get(value) ?? contactId
    this.#owners.set(value, owner)
    return owner === contactId
  }
}

/** Finds who has the external IDs of the items. */
export async function findOwners(tx: Scope, persons: Person[]): Promise<Owners> {
  const externalIds = persons.flatMap(({ item }) => item.externalId ?? [])
  if (externalIds.length === 0) return new Owners(new Map())
  const rows = await tx.sql<{ id: string; externalId: string }>('findExternalIds')`
    select id, external_id from contacts where tenant_id = ${tx.tenantId} and external_id = any(${externalIds})`
  return new Owners(new Map(rows.map(({ id, externalId }) => [externalId, id])))
}

/** Lists the tags of contacts, in lower case. */
export async function listTagNames(tx: Scope, contacts: ContactRow[]): Promise<Map<string, Set<string>>> {
  const names = new Map<string, Set<string>>()
  if (contacts.length === 0) return names
  const rows = await tx.sql<{ contactId: string; name: string }>('listTagNames')`
    select ct.contact_id, lower(t.name) as name from contact_tags ct
    join tags t on t.tenant_id = ${tx.tenantId} and t.id = ct.tag_id
    where ct.tenant_id = ${tx.tenantId} and ct.contact_id = any(${contacts.map(({ id }) => id)})`
  for (const { contactId, name } of rows) names.set(contactId, (names.get(contactId) ?? new Set()).add(name))
  return names
}
