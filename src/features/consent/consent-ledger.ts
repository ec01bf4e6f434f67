import { ConsentEntry as ConsentEntryRow, Contact as ContactRow } from '../../models/contacts.ts'
import type { Scope } from '../../scope/scope.ts'
import { changeConsents } from '../contacts/change-consents.ts'
import type { ConsentEntry, ContactConsent, GetConsent, RecordConsent } from './schema.ts'

/** Gets the consents of a contact at a time, by the entries of the ledger until then. */
export async function getConsent(scope: Scope, { contactId, limit, offset, ...input }: GetConsent) {
  const { id } = await scope.get(ContactRow, contactId)
  const at = input.at ?? scope.now()
  const entries = scope.query(ConsentEntryRow).where('contactId', id)
  // Without a time the latest entry counts: processes whose clocks differ may have written it in the future of this one.
  if (input.at) entries.where('createdAt', '<=', input.at)
  const newestFirst = entries.clone().orderBy([
    { column: 'createdAt', order: 'desc' },
    { column: 'id', order: 'desc' },
  ])
  const marketing = await newestFirst.clone().where('purpose', 'marketing').first()
  const service = await newestFirst.clone().where('purpose', 'service').first()
  const rows = await newestFirst.clone().limit(limit).offset(offset)
  const total = await entries.clone().resultSize()
  const consent: ContactConsent = {
    contactId: id,
    at,
    marketing: marketing?.state ?? 'unknown',
    service: service?.state ?? 'unknown',
    items: rows.map(toConsentEntry),
    total,
  }
  return consent
}

/** Records a consent with its evidence, even if it is the current state already. */
export function recordConsent(scope: Scope, { contactId, ...consent }: RecordConsent): Promise<ContactConsent> {
  return scope.transaction(async (tx) => {
    const { id } = await tx.lock(ContactRow, contactId)
    await changeConsents(tx, [{ contactId: id, ...consent, text: consent.text ?? null, isConfirmation: true }])
    return getConsent(tx, { contactId: id, limit: 20, offset: 0 })
  })
}

function toConsentEntry({ createdAt, ...row }: ConsentEntryRow): ConsentEntry {
  return { ...row, at: createdAt }
}
