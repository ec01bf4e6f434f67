import { insertRowsSql } from '../../../platform/database/statements/recordset.ts'
import { definedFields } from '../../../platform/fields.ts'
import { newId } from '../../../platform/ids.ts'
import { phoneCountry, toPhoneKey } from '../../../platform/phone.ts'
import type { Scope } from '../../../scope/scope.ts'
import { mergeFields } from '../../../steps/contacts/contact-fields.ts'
import { sortForLocking } from '../../automation/lock-order.ts'
import type { Person } from './persons.ts'

/** Returns the contacts that were created. Those whose number or external ID is taken, or that lack one, are left out. */
export async function insertContacts(
  tx: Scope,
  persons: Person[],
  source: 'api' | 'import',
): Promise<Map<Person, string>> {
  const now = tx.now()
  const ids = new Map<string, Person>()
  const rows = persons.flatMap((person) => {
    const { tags: _tags, consent: _consent, name, phone, fields = {}, ...columns } = person.item
    if (name === undefined || phone === undefined) return []
    const id = newId()
    ids.set(id, person)
    return {
      ...definedFields(columns),
      id,
      name,
      phone,
      phoneKey: toPhoneKey(phone),
      country: phoneCountry(phone),
      fields: mergeFields({}, fields) ?? {},
      // Columns of the row that are left out would be null.
      blocked: false,
      marketingConsent: 'unknown',
      serviceConsent: 'unknown',
      source,
      createdAt: now,
      updatedAt: now,
    }
  })
  if (rows.length === 0) return new Map()
  const sorted = sortForLocking(rows, ({ phoneKey, id }) => phoneKey ?? id)
  const inserted = await tx.sql<{ id: string }>('insertBulkContacts')`
    ${insertRowsSql('contacts', tx.tenantId, sorted)} on conflict do nothing returning id`
  await tx.record(...inserted.map(({ id: contactId }) => ({ type: 'contact.created' as const, data: { contactId } })))
  return new Map(
    inserted.flatMap(({ id }) => {
      const person = ids.get(id)
      return person ? [[person, id] as const] : []
    }),
  )
}
