import { UnprocessableError } from '../../platform/errors.ts'
import { toE164, toPhoneKey } from '../../platform/phone.ts'
import type { Scope } from '../../scope.ts'
import { findByPhone, findOrCreateContacts } from '../contacts/find-or-create-contacts.ts'

/**
 * Finds the contact with a phone number, in any spelling, or creates it if `createIfMissing` is set. Concurrent calls with the same unknown
 * number create one contact.
 * @throws UnprocessableError `invalid_phone`, `contact_not_found`
 */
export async function findOrCreateContact(
  scope: Scope,
  { text, createIfMissing }: { text: string; createIfMissing: boolean },
): Promise<string> {
  const phone = toE164(text)
  if (!phone) {
    throw new UnprocessableError(
      'invalid_phone',
      `contact.phone is ${JSON.stringify(text.slice(0, 40))}, which is not a phone number such as +14155550100`,
    )
  }
  const existing = (await findByPhone(scope, [{ phone }])).get(toPhoneKey(phone))
  if (existing) return existing
  if (!createIfMissing) {
    throw new UnprocessableError(
      'contact_not_found',
      `No contact has the number ${phone}. Create it first, or set createIfMissing in the webhook trigger`,
    )
  }
  return scope.transaction(async (tx) => {
    const [contact] = await findOrCreateContacts(tx, [{ phone }])
    return contact?.contactId ?? ''
  })
}
