import { UniqueViolationError } from 'objection'
import { Contact as ContactRow } from '../../models/contacts/contact.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'

/**
 * The database decides whether a number is free: two callers who ask first and write then would both get it.
 * @throws ConflictError `contact_exists`, naming the contact that has it
 */
export async function toUniqueContactError<T>(
  scope: Scope,
  wanted: { phone?: string | undefined; externalId?: string | null | undefined },
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (!(error instanceof UniqueViolationError) || error.table !== 'contacts') throw error
    const isPhone = error.constraint === 'contacts_tenant_id_phone_key'
    const [column, value] = isPhone ? ['phone', wanted.phone] : ['externalId', wanted.externalId]
    const other = await scope.query(ContactRow).findOne({ [column as string]: value })
    throw new ConflictError(
      'contact_exists',
      `Another contact already has this ${isPhone ? 'phone number' : 'external id'}. Change that contact instead`,
      { contactId: other?.id ?? null },
    )
  }
}
