import { toRecordset } from '../../../platform/database/sql.ts'
import { definedFields } from '../../../platform/fields.ts'
import { toPhoneKey } from '../../../platform/phone.ts'
import type { Scope } from '../../../scope/scope.ts'
import type { ItemError } from '../../../trpc/bulk.ts'
import { FIELDS_TOO_LARGE, mergeFields } from '../../../steps/contacts/contact-fields.ts'
import { changeContacts, type ContactChange, diffDetails, updatedEvent } from '../change-contacts.ts'
import type { LockedContact } from './find-contacts.ts'
import { invalid, type Person } from './persons.ts'

/** A change of a contact, with the names of what differs. `externalId` is undefined if it stays as it is. */
export type Change = {
  id: string
  values: ContactChange['values']
  externalId: string | null | undefined
  fields: string[]
}

/** Compares an item with a locked contact. `owners` of external IDs gets those that the change takes. */
export function toChange(row: LockedContact, item: Person['item'], owners: Map<string, string>): Change | ItemError {
  const { id } = row
  const { name, email, language, timezone, externalId, phone } = item
  if (phone !== undefined && (row.phone === null || toPhoneKey(phone) !== toPhoneKey(row.phone)))
    return { code: 'phone_differs', message: 'The contact has not this number. Change it with PATCH /api/contacts' }
  const merged = item.fields ? mergeFields(row.fields ?? {}, item.fields) : row.fields
  if (item.fields && !merged) return invalid(`fields: ${FIELDS_TOO_LARGE}, those that exist included`)
  const owner = externalId && externalId !== row.externalId ? owners.get(externalId) : undefined
  if (owner !== undefined && owner !== id)
    return { code: 'contact_exists', message: `The contact ${owner} has this external ID` }
  if (externalId) owners.set(externalId, id)
  const values = definedFields({ name, email, language, timezone })
  // As they are stored: JSON has no negative zero.
  const stored = item.fields ? JSON.parse(JSON.stringify(merged)) : row.fields
  const updated = { ...row, ...values, ...(externalId === undefined ? {} : { externalId }), fields: stored }
  return {
    id,
    values: { ...values, ...(item.fields ? { fields: item.fields } : {}) },
    externalId: externalId === row.externalId ? undefined : externalId,
    fields: diffDetails(row, updated),
  }
}

/** Writes the changes with two statements, and records an event for each; the caller writes the tags of those in `tagged`. */
export async function applyChanges(tx: Scope, changes: Change[], tagged: ReadonlySet<string>): Promise<void> {
  await changeContacts(
    tx,
    changes.map(({ id: contactId, values }) => ({ contactId, values: { fields: {}, ...values }, depth: 0 })),
    { tells: false },
  )
  const events = changes.map(({ id, fields }) => updatedEvent(id, tagged.has(id) ? [...fields, 'tags'] : fields))
  // The change of a consent has an event already.
  await tx.record(...events.filter(({ data }) => data.changed.length > 0))
  const externalIds = changes.flatMap(({ id, externalId }) => (externalId === undefined ? [] : [{ id, externalId }]))
  if (externalIds.length === 0) return
  await tx.sql('changeExternalIds')`
    update contacts c set external_id = x.external_id
    from jsonb_to_recordset(${toRecordset(externalIds)}::jsonb) as x (id uuid, external_id text)
    where c.tenant_id = ${tx.tenantId} and c.id = x.id`
}
