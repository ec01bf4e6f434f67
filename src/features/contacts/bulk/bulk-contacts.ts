import { retry } from '../../../platform/concurrency/retry.ts'
import { findUniqueKey } from '../../../platform/database/unique-name.ts'
import { ConflictError } from '../../../platform/errors.ts'
import { toPhoneKey } from '../../../platform/phone.ts'
import type { Scope } from '../../../scope/scope.ts'
import { countStatuses, type ItemError } from '../../../trpc/bulk.ts'
import { emitEvents } from '../../automation/emit-events.ts'
import { storeConsents } from '../change-consents.ts'
import { changeTags } from '../change-tags.ts'
import { applyChanges, type Change, toChange } from './apply-changes.ts'
import { findContacts, findOwners, findPhoneOwners, listTagNames, lockContacts } from './find-contacts.ts'
import { insertContacts } from './insert-contacts.ts'
import { invalid, type Person, readPersons, toKey } from './persons.ts'
import type { BulkContacts, BulkResult, BulkResults } from './schema.ts'

export type Outcome =
  { status: 'created' | 'updated' | 'unchanged'; id: string } | { status: 'failed'; error: ItemError }

export type StoreOptions = Pick<BulkContacts, 'mode' | 'matchBy' | 'startWorkflows'> & { source: 'api' | 'import' }

/**
 * Creates and changes contacts with a number of statements that does not depend on how many there are. An item that is not
 * valid, or whose number or external ID another contact has, fails by itself. Contacts with the state that the items ask
 * for are not written.
 * @throws ConflictError `too_many_tags`; `contact_exists` while others take the same external IDs again and again
 */
export async function bulkContacts(scope: Scope, input: BulkContacts): Promise<BulkResults> {
  const { persons, failed } = readPersons(input.items, input.matchBy)
  const results: BulkResult[] = [...failed].map(([index, error]) => ({ index, status: 'failed', id: null, error }))
  const outcomes =
    persons.length > 0 ? await storePersons(scope, persons, { ...input, source: 'api' }) : new Map<Person, Outcome>()
  for (const [{ indexes }, outcome] of outcomes) {
    const result =
      outcome.status === 'failed'
        ? { status: outcome.status, id: null, error: outcome.error }
        : { status: outcome.status, id: outcome.id, error: null }
    results.push(...indexes.map((index) => ({ index, ...result })))
  }
  const counts = countStatuses(results, ['created', 'updated', 'unchanged', 'failed'])
  return { results: results.toSorted((a, b) => a.index - b.index), counts }
}

/**
 * Creates and changes the contacts of persons, each of whom is there once. Another call may take an external ID between the
 * look for its owner and the write, so that it is done again.
 * @throws ConflictError
 */
export async function storePersons(
  scope: Scope,
  persons: Person[],
  options: StoreOptions,
): Promise<Map<Person, Outcome>> {
  const isTaken = (error: unknown) => findUniqueKey(error)?.startsWith('contacts_') ?? false
  let attempts = 0
  const work = () => {
    attempts += 1
    // Rows of the first attempt that are in conflict undo it all. It looks for the contacts first, by what may be taken.
    const mayConflict =
      attempts > 1 || options.matchBy !== 'phone' || persons.some(({ item }) => typeof item.externalId === 'string')
    return scope.transaction((tx) => store(tx, persons, { ...options, mayConflict }))
  }
  try {
    return await retry(work, { isRetryable: isTaken, attemptsMax: 3, delayMs: 20 })
  } catch (error) {
    if (!isTaken(error)) throw error
    throw new ConflictError('contact_exists', 'Other calls change the same contacts. Send the items again')
  }
}

async function store(
  tx: Scope,
  persons: Person[],
  options: StoreOptions & { mayConflict: boolean },
): Promise<Map<Person, Outcome>> {
  const { mode, matchBy, startWorkflows, source } = options
  // Before contacts are locked: concurrent calls with the same new contact wait for each other.
  const known = await findContacts(tx, persons, matchBy)
  const missing = mode === 'update' ? [] : persons.filter(({ key }) => !known.has(key))
  const created = await insertContacts(tx, missing, options)
  const others = persons.filter((person) => !created.has(person))
  const unknown = others.filter(({ key }) => !known.has(key))
  const found = new Map([...known, ...(await findContacts(tx, unknown, matchBy))])
  const existing = mode === 'create' ? [] : [...found.values()].flatMap((ids) => (ids.length === 1 ? ids : []))
  const rows = await lockContacts(tx, existing, { withFields: others.some(({ item }) => item.fields !== undefined) })
  const owners = await findOwners(tx, others)
  const phoneOwners = matchBy === 'phone' ? new Map<string, string>() : await findPhoneOwners(tx, others, found)
  const changes = new Map<Person, Change>()
  const outcomes = new Map<Person, Outcome>([...created].map(([person, id]) => [person, { status: 'created', id }]))
  for (const person of others) {
    const change = compare(person, { ids: found.get(person.key) ?? [], rows, owners, phoneOwners, options })
    if ('code' in change) outcomes.set(person, { status: 'failed', error: change })
    else changes.set(person, change)
  }
  const ids = new Map([...created, ...[...changes].map(([person, { id }]) => [person, id] as const)])
  const consents = await storeConsents(
    tx,
    [...ids].flatMap(([{ item }, contactId]) =>
      item.consent ? [{ contactId, purpose: 'marketing', state: item.consent.marketing, source }] : [],
    ),
  )
  const consented = new Set(consents.recorded.map(({ contactId }) => contactId))
  const tags = await listTagNames(tx, others.some(({ item }) => item.tags) ? existing : [])
  const added = [...ids].flatMap(([{ item }, contactId]) => {
    const names = (item.tags ?? []).filter((tag) => !tags.get(contactId)?.has(tag.toLowerCase()))
    return names.map((tag) => ({ contactId, tag, isAdded: true }))
  })
  const tagged = new Set(added.map(({ contactId }) => contactId))
  const applied = [...changes].filter(([, { id, fields }]) => fields.length > 0 || consented.has(id) || tagged.has(id))
  for (const [person, { id }] of changes) outcomes.set(person, { status: 'unchanged', id })
  for (const [person, { id }] of applied) outcomes.set(person, { status: 'updated', id })
  await applyChanges(
    tx,
    applied.map(([, change]) => change),
    tagged,
  )
  if (startWorkflows) {
    const updated = applied.flatMap(([, { id: contactId, fields }]) => {
      const names = consented.has(contactId) ? [...fields, 'consent'] : fields
      return names.length > 0 ? [{ contactId, event: { type: 'contact_updated' as const, fields: names } }] : []
    })
    const isNew = [...created.values()].map((contactId) => ({ contactId, event: { type: 'contact_created' as const } }))
    await emitEvents(tx, [...isNew, ...updated])
  }
  await changeTags(tx, added, { emits: startWorkflows })
  const changed = [...created.values(), ...applied.map(([, { id }]) => id)]
  if (changed.length > 0) tx.audit?.addTargets('contact', changed)
  else tx.audit?.drop()
  return outcomes
}

type Existing = {
  ids: string[]
  rows: Map<string, Parameters<typeof toChange>[0]>
  owners: Map<string, string>
  phoneOwners: ReadonlyMap<string, string>
  options: StoreOptions
}

/** Returns the change of the contact of a person, or the reason why there is none. */
function compare({ key, item }: Person, { ids, rows, owners, phoneOwners, options }: Existing): Change | ItemError {
  const { mode, matchBy } = options
  const [id, ...others] = ids
  if (id === undefined) return describeMissing(item, mode, { owners, phoneOwners })
  if (others.length > 0) return { code: 'contact_ambiguous', message: `Several contacts have this ${matchBy}` }
  if (mode === 'create') return { code: 'contact_exists', message: `The contact ${id} has this ${matchBy}` }
  const row = rows.get(id)
  // It was found before it was locked: what it has now is not overwritten with the value that it was found by.
  return row && toKey(row, matchBy) === key
    ? toChange(row, item, owners)
    : { code: 'contact_changed', message: 'The contact was changed or deleted meanwhile. Send the item again' }
}

function describeMissing(
  { name, phone, externalId }: Person['item'],
  mode: BulkContacts['mode'],
  { owners, phoneOwners }: Pick<Existing, 'owners' | 'phoneOwners'>,
): ItemError {
  if (mode === 'update') return { code: 'not_found', message: 'There is no such contact' }
  if (name === undefined) return invalid('name is required for a new contact')
  if (phone === undefined) return invalid('phone is required for a new contact')
  const phoneOwner = phoneOwners.get(toPhoneKey(phone))
  if (phoneOwner !== undefined)
    return { code: 'contact_exists', message: `The contact ${phoneOwner} has this phone number` }
  const owner = externalId ? owners.get(externalId) : undefined
  return {
    code: 'contact_exists',
    message: `${owner === undefined ? 'Another contact' : `The contact ${owner}`} has this external ID`,
  }
}
