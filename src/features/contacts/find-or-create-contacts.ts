import { toRecordset } from '../../platform/database/sql.ts'
import { newId } from '../../platform/ids.ts'
import { phoneCountry, toPhoneKey } from '../../platform/phone.ts'
import type { Scope } from '../../scope/scope.ts'
import { sortForLocking } from '../automation/lock-order.ts'
import { emitEvents } from '../automation/emit-events.ts'

type Person = { phone: string; name?: string | undefined }
type FoundContact = { contactId: string; isCreated: boolean }
type Row = { id: string; phone: string; phoneKey: string | null }

/**
 * Finds the contacts of phone numbers in E.164 or creates them, in a fixed number of statements, and returns them in the
 * order of `people`. Numbers with the same match key are one person. Of concurrent calls with the same new number one
 * creates the contact and the others wait for it: call this before the transaction locks conversations or contacts.
 */
export async function findOrCreateContacts(
  tx: Scope,
  people: Person[],
  { source = 'api' }: { source?: 'api' | 'import' } = {},
): Promise<FoundContact[]> {
  if (people.length === 0) return []
  const contacts = await findByPhone(tx, people)
  const missing = people.filter((person) => !contacts.has(toPhoneKey(person.phone)))
  const created = await insertContacts(tx, missing, source)
  if (missing.length > 0) for (const [key, id] of await findByPhone(tx, missing)) contacts.set(key, id)
  return people.map(({ phone }) => {
    const key = toPhoneKey(phone)
    const contactId = contacts.get(key)
    if (contactId === undefined) throw new Error('a contact was deleted while it was looked up')
    // The first of several entries of one person created the contact.
    return { contactId, isCreated: created.delete(contactId) }
  })
}

/** Finds contacts by match key. A contact without one, of before there were match keys, is found by its exact number. */
export async function findByPhone(tx: Scope, people: { phone: string }[]): Promise<Map<string, string>> {
  const rows = await tx.sql<Row>('findByPhone')`
    select id, phone, phone_key from contacts where tenant_id = ${tx.tenantId} and phone_key = any(${people.map(({ phone }) => toPhoneKey(phone))})
     union all
     select id, phone, phone_key from contacts
     where tenant_id = ${tx.tenantId} and phone = any(${people.map(({ phone }) => phone)}) and phone_key is null`
  // The contact that has the match key takes precedence.
  return new Map(rows.toReversed().map(({ id, phone, phoneKey }) => [phoneKey ?? toPhoneKey(phone), id]))
}

/** Returns the ids of the contacts that were created. */
async function insertContacts(tx: Scope, people: Person[], source: 'api' | 'import'): Promise<Set<string>> {
  const distinct = [...new Map(people.toReversed().map((person) => [toPhoneKey(person.phone), person])).entries()]
  if (distinct.length === 0) return new Set()
  const rows = distinct.map(([phoneKey, { phone, name }]) => ({
    id: newId(),
    name: (name?.trim() || phone).slice(0, 200),
    phone,
    phoneKey,
    country: phoneCountry(phone),
  }))
  const now = tx.now()
  const inserted = await tx.sql<{ id: string }>('insertContacts')`
    insert into contacts (tenant_id, id, name, phone, phone_key, country, source, created_at, updated_at)
     select ${tx.tenantId}::uuid, id, name, phone, phone_key, country, ${source}, ${now}::timestamptz, ${now}::timestamptz
     from jsonb_to_recordset(${toRecordset(sortForLocking(rows, ({ phoneKey }) => phoneKey))}::jsonb) as x (id uuid, name text, phone text, phone_key text, country text)
     on conflict do nothing returning id`
  const contactIds = inserted.map(({ id }) => id)
  await tx.record(...contactIds.map((contactId) => ({ type: 'contact.created' as const, data: { contactId } })))
  await emitEvents(
    tx,
    contactIds.map((contactId) => ({ contactId, event: { type: 'contact_created' as const } })),
  )
  return new Set(contactIds)
}
