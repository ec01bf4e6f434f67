import { Contact as ContactRow } from '../../models/contacts.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import { newId } from '../../platform/ids.ts'
import { phoneCountry, toPhoneKey } from '../../platform/phone.ts'
import type { Scope } from '../../scope/scope.ts'
import { raiseEvents } from '../automation/raise-events.ts'
import { storeConsents } from './change-consents.ts'
import { changeTags } from './change-tags.ts'
import { getContact } from './queries.ts'
import { toUniqueContactError } from './errors.ts'
import type { Contact, CreateContact } from './schema.ts'

/** Creates a contact. Its phone number and its external id are unique in the workspace. */
export function createContact(scope: Scope, { tags = [], consent, ...input }: CreateContact): Promise<Contact> {
  const contactId = newId()
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
      await raiseEvents(tx, [{ contactId, event: { type: 'contact_created' } }])
      await changeTags(
        tx,
        tags.map((tag) => ({ contactId, tag, isAdded: true })),
      )
      await tx.record({ type: 'contact.created', data: { contactId } })
      return getContact(tx, { contactId })
    }),
  )
}
