import { sqlFragment } from '../../../platform/database/statements/statement.ts'
import { newId } from '../../../platform/ids.ts'
import { phoneCountry, toPhoneKey } from '../../../platform/phone.ts'
import type { Scope } from '../../../scope/scope.ts'
import { mergeFields } from '../../../steps/contacts/contact-fields.ts'
import { sortForLocking } from '../../automation/lock-order.ts'
import type { Person } from './persons.ts'

type InsertOptions = {
  source: 'api' | 'import'
  /** False if no contact had the numbers a moment ago, and nothing else could be taken: the insert is cheaper then. */
  mayConflict: boolean
}

/**
 * Returns the contacts that were created. Those that lack a name or number are left out, and with `mayConflict` those whose
 * number or external ID is taken, too.
 * @throws the unique violation of a number that is taken, without `mayConflict`
 */
export async function insertContacts(
  tx: Scope,
  persons: Person[],
  { source, mayConflict }: InsertOptions,
): Promise<Map<Person, string>> {
  const ids = new Map<string, Person>()
  const rows = persons.flatMap((person) => {
    const { name, phone, email, language, timezone, externalId, fields } = person.item
    if (name === undefined || phone === undefined) return []
    const id = newId()
    ids.set(id, person)
    // One word each, as they are the columns of a recordset. JSON has none that are undefined.
    return {
      id,
      name,
      phone,
      key: toPhoneKey(phone),
      country: phoneCountry(phone),
      email,
      language,
      timezone,
      external: externalId,
      fields: fields && mergeFields({}, fields),
    }
  })
  if (rows.length === 0) return new Map()
  const sorted = sortForLocking(rows, ({ key }) => key)
  const now = tx.now()
  // A conflict clause looks each row up in all unique indexes before it inserts it, and marks it twice in the log.
  const inserted = await tx.sql<{ id: string }>('insertBulkContacts')`
    insert into contacts (tenant_id, id, name, phone, phone_key, country, email, language, timezone, external_id, fields,
      source, created_at, updated_at)
    select ${tx.tenantId}::uuid, id, name, phone, key, country, email, language, timezone, external,
      coalesce(fields, '{}'), ${source}, ${now}::timestamptz, ${now}::timestamptz
    from jsonb_to_recordset(${JSON.stringify(sorted)}::jsonb) as x (id uuid, name text, phone text, key text, country text,
      email text, language text, timezone text, external text, fields jsonb)
    ${mayConflict ? sqlFragment`on conflict do nothing` : sqlFragment``} returning id`
  await tx.record(...inserted.map(({ id: contactId }) => ({ type: 'contact.created' as const, data: { contactId } })))
  return new Map(
    inserted.flatMap(({ id }) => {
      const person = ids.get(id)
      return person ? [[person, id] as const] : []
    }),
  )
}
