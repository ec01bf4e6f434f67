import { Contact as ContactRow } from '../../models/contacts.ts'
import type { Scope } from '../../scope/scope.ts'
import { changeConsents } from '../contacts/change-consents.ts'
import { getConsent } from './get-consent.ts'
import type { ContactConsent, RecordConsent } from './schema.ts'

/** Records a consent with its evidence, even if it is the current state already. */
export function recordConsent(scope: Scope, { contactId, ...consent }: RecordConsent): Promise<ContactConsent> {
  return scope.transaction(async (tx) => {
    const { id } = await tx.lock(ContactRow, contactId)
    await changeConsents(tx, [{ contactId: id, ...consent, text: consent.text ?? null, isConfirmation: true }])
    return getConsent(tx, { contactId: id, limit: 20, offset: 0 })
  })
}
