import { UniqueViolationError } from 'objection'
import { Contact as ContactRow } from '../../models/contacts/contact.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'

/**
 * Runs `write` and converts a violation of a unique key of `contacts`. Only the database can decide whether a phone number
 * is free: two concurrent callers that check before they write would both find it free.
 * @throws ConflictError `contact_exists`, with the id of the other contact
 */
export async function toUniqueContactError<T>(
  scope: Scope,
  { phone, externalId }: { phone?: string | undefined; externalId?: string | null | undefined },
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (!(error instanceof UniqueViolationError) || error.table !== 'contacts') throw error
    const isPhone = error.constraint === 'contacts_tenant_id_phone_key'
    const other = await scope
      .query(ContactRow)
      .where(isPhone ? { phone } : { externalId })
      .first()
    throw new ConflictError(
      'contact_exists',
      `Another contact already has this ${isPhone ? 'phone number' : 'external id'}. Update that contact instead`,
      { contactId: other?.id ?? null },
    )
  }
}
