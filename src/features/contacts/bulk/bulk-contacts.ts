import { isDeepStrictEqual } from 'node:util'
import { Contact as ContactRow } from '../../../models/contacts.ts'
import { insertRowsSql } from '../../../platform/database/statements/recordset.ts'
import { definedFields } from '../../../platform/fields.ts'
import { newId } from '../../../platform/ids.ts'
import { phoneCountry, toPhoneKey } from '../../../platform/phone.ts'
import type { Scope } from '../../../scope/scope.ts'
import { FIELDS_TOO_LARGE, mergeFields } from '../../../steps/contacts/contact-fields.ts'
import { sortForLocking } from '../../automation/lock-order.ts'
import { raiseEvents } from '../../automation/raise-events.ts'
import { storeConsents } from '../change-consents.ts'
import { changeContacts, type ContactChange } from '../change-contacts.ts'
import { changeTags } from '../change-tags.ts'
import { findContacts, findOwners, listTagNames, type Owners } from './find-contacts.ts'
import { type ItemError, type Person, readPersons } from './persons.ts'
import type { BulkContacts, BulkResult, BulkResults } from './schema.ts'

type Outcome = { status: 'created' | 'updated' | 'unchanged'; id: string } | { status: 'failed'; error: ItemError }

/**
 * Creates and changes contacts with a number of statements that does not depend on how many there are. An item that is not
 * valid, or whose number or external ID another contact has, fails by itself. Contacts with the state that the items ask
 * for are not written.
 * @throws ConflictError `too_many_tags`
 */
export async function bulkContacts(scope: Scope, input: BulkContacts): Promise<BulkResults> {
  const { persons, failed } = readPersons(input.items, input.matchBy)
  const outcomes = persons.length > 0 ? await scope.transaction((tx) => store(tx, persons, input)) : new Map()
  const results: BulkResult[] = [...failed].map(([index, error]) => ({ index, status: 'failed', id: null, error }))
  for (const person of persons) {
    const outcome: Outcome = outcomes.get(person)
    const result =
      outcome.status === 'failed'
        ? { status: outcome.status, id: null, error: outcome.error }
        : { status: outcome.status, id: outcome.id, error: null }
    results.push(...person.indexes.map((index) => ({ index, ...result })))
  }
  const count = (status: BulkResult['status']) => results.filter((result) => result.status === status).length
  return {
    results: results.toSorted((a, b) => a.index - b.index),
    counts: {
      created: count('created'),
      updated: count('updated'),
      unchanged: count('unchanged'),
      failed: count('failed'),
    },
  }
}

async function store(tx: Scope, persons: Person[], input: BulkContacts): Promise<Map<Person, Outcome>> {
  const { mode, matchBy, startWorkflows: raises } = input
  const outcomes = new Map<Person, Outcome>()
  const fail = (person: Person, code: string, message: string) =>
    outcomes.set(person, { status: 'failed', error: { code, message } })
  // Before contacts are locked: concurrent calls with the same new contact wait for each other.
  const known = await findContacts(tx, persons, matchBy)
  const missing = persons.filter(({ key }) => !known.has(key))
  const created = mode === 'update' ? new Set<string>() : await insertContacts(tx, missing, { raises })
  const found = await findContacts(tx, persons, matchBy, { isLocked: true })
  const owners = await findOwners(tx, persons)
  const tags = await listTagNames(tx, [...found.values()].flat())
  const changes = new Map<Person, { row: ContactRow; change: ContactChange; columns: Partial<ContactRow> }>()
  for (const person of persons) {
    const [row, ...others] = found.get(person.key) ?? []
    if (!row) failMissing(person, { mode, fail })
    else if (others.length > 0) fail(person, 'contact_ambiguous', `Several contacts have this ${matchBy}`)
    else if (created.has(row.id)) outcomes.set(person, { status: 'created', id: row.id })
    else if (mode === 'create') fail(person, 'contact_exists', `The contact ${row.id} has this ${matchBy}`)
    else {
      const change = toChange(row, person.item, owners)
      if ('code' in change) fail(person, change.code, change.message)
      else changes.set(person, { row, ...change })
    }
  }
  const ids = new Map<Person, string>(
    [...outcomes].flatMap(([person, outcome]) => (outcome.status === 'created' ? [[person, outcome.id] as const] : [])),
  )
  for (const [person, { row }] of changes) ids.set(person, row.id)
  const consented = await storeAllConsents(tx, ids)
  const added = [...ids].flatMap(([{ item }, contactId]) => {
    const existing = tags.get(contactId) ?? new Set()
    const names = (item.tags ?? []).filter((tag) => !existing.has(tag.toLowerCase()))
    return names.map((tag) => ({ contactId, tag, isAdded: true }))
  })
  const tagged = new Set(added.map(({ contactId }) => contactId))
  const applied = [...changes].filter(
    ([, { row, change, columns }]) =>
      Object.keys(change.values).length + Object.keys(columns).length > 0 ||
      consented.has(row.id) ||
      tagged.has(row.id),
  )
  for (const [person, { row }] of changes) outcomes.set(person, { status: 'unchanged', id: row.id })
  for (const [person, { row }] of applied) outcomes.set(person, { status: 'updated', id: row.id })
  await changeContacts(
    tx,
    applied.map(([, { change }]) => ({ ...change, values: { fields: {}, ...change.values } })),
    { raises },
  )
  for (const [, { row, columns }] of applied)
    if (Object.keys(columns).length > 0) await tx.query(ContactRow).findOne('id', row.id).patch(columns)
  await changeTags(tx, added, { raises })
  return outcomes
}

function failMissing(
  person: Person,
  { mode, fail }: { mode: BulkContacts['mode']; fail: (person: Person, code: string, message: string) => unknown },
): void {
  const { name, phone } = person.item
  if (mode === 'update') fail(person, 'not_found', 'There is no such contact')
  else if (name === undefined || phone === undefined)
    fail(person, 'validation_failed', `${name === undefined ? 'name' : 'phone'} is required for a new contact`)
  else fail(person, 'contact_exists', 'Another contact has this phone number or external ID')
}

/** Returns the IDs of the contacts that were created. Those whose number or external ID is taken are left out. */
async function insertContacts(tx: Scope, persons: Person[], { raises }: { raises: boolean }): Promise<Set<string>> {
  const now = tx.now()
  const rows = persons.flatMap(({ item: { tags: _tags, consent: _consent, name, phone, fields = {}, ...columns } }) =>
    name === undefined || phone === undefined
      ? []
      : [
          {
            ...definedFields(columns),
            id: newId(),
            name,
            phone,
            phoneKey: toPhoneKey(phone),
            country: phoneCountry(phone),
            fields,
            blocked: false,
            marketingConsent: 'unknown',
            serviceConsent: 'unknown',
            source: 'api',
            createdAt: now,
            updatedAt: now,
          },
        ],
  )
  if (rows.length === 0) return new Set()
  const inserted = await tx.sql<{ id: string }>('insertBulkContacts')`
    ${insertRowsSql(
      'contacts',
      tx.tenantId,
      sortForLocking(rows, ({ phoneKey, id }) => phoneKey ?? id),
    )}
    on conflict do nothing returning id`
  const ids = inserted.map(({ id }) => id)
  await tx.record(...ids.map((contactId) => ({ type: 'contact.created' as const, data: { contactId } })))
  if (raises)
    await raiseEvents(
      tx,
      ids.map((contactId) => ({ contactId, event: { type: 'contact_created' as const } })),
    )
  return new Set(ids)
}

/** Compares an item with a locked contact. Values that are the same are left out. */
function toChange(
  row: ContactRow,
  item: Person['item'],
  owners: Owners,
): { change: ContactChange; columns: Partial<ContactRow> } | ItemError {
  const { name, email, language, timezone } = item
  const values: ContactChange['values'] = Object.fromEntries(
    Object.entries(definedFields({ name, email, language, timezone })).filter(
      ([property, value]) => value !== Reflect.get(row, property),
    ),
  )
  if (item.fields) {
    const merged = mergeFields(row.fields, item.fields)
    if (!merged) return { code: 'validation_failed', message: `fields: ${FIELDS_TOO_LARGE}, with those that exist` }
    if (!isDeepStrictEqual(merged, row.fields)) values.fields = item.fields
  }
  const columns: Partial<ContactRow> = {}
  const { externalId, phone } = item
  if (externalId !== undefined && externalId !== row.externalId) {
    if (externalId !== null && !owners.claim(externalId, row.id))
      return { code: 'contact_exists', message: 'Another contact has this external ID' }
    columns.externalId = externalId
  }
  if (phone !== undefined && (row.phone === null || toPhoneKey(phone) !== toPhoneKey(row.phone)))
    return {
      code: 'phone_differs',
      message: 'The contact has another phone number. Change it with PATCH /api/contacts',
    }
  return { change: { contactId: row.id, values, depth: 0 }, columns }
}

/** Returns the contacts whose consent has changed. */
async function storeAllConsents(tx: Scope, ids: Map<Person, string>): Promise<Set<string>> {
  const { recorded } = await storeConsents(
    tx,
    [...ids].flatMap(([{ item }, contactId]) =>
      item.consent
        ? [{ contactId, purpose: 'marketing' as const, state: item.consent.marketing, source: 'api' as const }]
        : [],
    ),
  )
  return new Set(recorded.map(({ contactId }) => contactId))
}
