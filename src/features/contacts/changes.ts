import { Contact as ContactRow } from '../../models/contacts.ts'
import { InvalidError } from '../../platform/errors.ts'
import { definedFields } from '../../platform/fields.ts'
import { newId } from '../../platform/ids.ts'
import { phoneCountry, toPhoneKey } from '../../platform/phone.ts'
import type { Scope } from '../../scope/scope.ts'
import { type ContactFields, FIELDS_TOO_LARGE, mergeFields } from '../../steps/contacts/contact-fields.ts'
import { cancelContactRuns } from '../automation/cancel-contact-runs.ts'
import { emitEvents } from '../automation/emit-events.ts'
import { storeConsents } from './change-consents.ts'
import { diffDetails, updatedEvent } from './change-contacts.ts'
import { changeTags, replaceTags } from './change-tags.ts'
import { toUniqueContactError } from './errors.ts'
import { removeIdentities } from './identities.ts'
import { getContact } from './queries.ts'
import type { Contact, CreateContact, UpdateContact } from './schema.ts'

/** Creates a contact. Its phone number and its external id are unique in the workspace. */
export function createContact(
  scope: Scope,
  { id: contactId = newId(), tags = [], consent, ...input }: CreateContact & { id?: string },
): Promise<Contact> {
  return toUniqueContactError(scope, input, () =>
    scope.transaction(async (tx) => {
      const now = tx.now()
      await tx.query(ContactRow).insert({
        ...definedFields(input),
        id: contactId,
        country: phoneCountry(input.phone),
        phoneKey: toPhoneKey(input.phone),
        source: 'api',
        createdAt: now,
        updatedAt: now,
      })
      if (consent) {
        await storeConsents(tx, [{ contactId, purpose: 'marketing', state: consent.marketing, source: 'api' }])
      }
      await emitEvents(tx, [{ contactId, event: { type: 'contact_created' } }])
      await changeTags(
        tx,
        tags.map((tag) => ({ contactId, tag, isAdded: true })),
      )
      await tx.record({ type: 'contact.created', data: { contactId } })
      return getContact(tx, { contactId })
    }),
  )
}

/** Changes the fields that are set in `input` and leaves the others as they are. */
export function updateContact(scope: Scope, input: UpdateContact): Promise<Contact> {
  const { contactId, tags, addTags = [], removeTags = [], fields, consent, ...columns } = input
  return toUniqueContactError(scope, columns, () =>
    scope.transaction(async (tx) => {
      const existing = await tx.lock(ContactRow, contactId)
      tx.audit?.compareWith(existing)
      await tx
        .query(ContactRow)
        .findOne('id', contactId)
        .patch({
          ...definedFields(columns),
          ...(columns.phone ? { country: phoneCountry(columns.phone), phoneKey: toPhoneKey(columns.phone) } : {}),
          ...(fields ? { fields: mergeOrThrow(existing.fields, fields) } : {}),
          updatedAt: tx.now(),
        })
      if (columns.phone) await forgetFormerNumber(tx, existing, columns.phone)
      if (consent) {
        await storeConsents(tx, [{ contactId, purpose: 'marketing', state: consent.marketing, source: 'api' }])
      }
      const hasReplacedTags = tags !== undefined && (await replaceTags(tx, contactId, tags))
      const tagged = await changeTags(tx, [
        ...addTags.map((tag) => ({ contactId, tag, isAdded: true })),
        ...removeTags.map((tag) => ({ contactId, tag, isAdded: false })),
      ])
      const changed = diffDetails({ ...existing }, { ...(await tx.get(ContactRow, contactId)) })
      if (changed.length > 0) await emitEvents(tx, [{ contactId, event: { type: 'contact_updated', fields: changed } }])
      if (columns.blocked && !existing.blocked) await cancelContactRuns(tx, contactId)
      // The change of a consent has an event already.
      const others = changed.filter((name) => name !== 'consent')
      const names = hasReplacedTags || tagged.has(contactId) ? [...others, 'tags'] : others
      if (names.length > 0) await tx.record(updatedEvent(contactId, names))
      return getContact(tx, { contactId })
    }),
  )
}

/**
 * Removes the names by which channels know a contact under its former number: messages would go on to that, and a person
 * who writes from it would be this contact. Names under another spelling of the new number stay.
 */
async function forgetFormerNumber(tx: Scope, { id, phone: former }: ContactRow, phone: string): Promise<void> {
  const key = toPhoneKey(phone)
  const isOther = former !== null && toPhoneKey(former) !== key
  await removeIdentities(tx, id, ({ kind, value }) => (kind === 'phone' ? toPhoneKey(value) !== key : isOther))
}

/** @throws InvalidError if the fields would be too large */
function mergeOrThrow(existing: ContactFields, changes: ContactFields): ContactFields {
  const merged = mergeFields(existing, changes)
  if (merged) return merged
  const message = `${FIELDS_TOO_LARGE}, those that exist included. Set fields to null to remove them`
  throw new InvalidError(`fields: ${message}`, [{ path: 'fields', message }])
}
