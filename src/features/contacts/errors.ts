import { Contact as ContactRow } from '../../models/contacts.ts'
import { findUniqueKey } from '../../platform/database/unique-name.ts'
import { ConflictError, UnprocessableError } from '../../platform/errors.ts'
import { toPhoneKey } from '../../platform/phone.ts'
import type { Scope } from '../../scope/scope.ts'
import { findByPhone } from './find-or-create-contacts.ts'

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
    const key = findUniqueKey(error)
    if (!key?.startsWith('contacts_')) throw error
    const isPhone = key !== 'contacts_tenant_id_external_id_key'
    const otherId = isPhone ? await findPhoneOwner(scope, phone) : await findExternalId(scope, externalId)
    throw new ConflictError(
      'contact_exists',
      `Another contact already has this ${isPhone ? 'phone number' : 'external id'}. Update that contact instead`,
      { contactId: otherId ?? null },
    )
  }
}

/** Builds the error of a request that a blocked contact rules out. `consequence` says what blocking prevents. */
export function contactBlockedError(consequence: 'starts no runs' | 'receives no messages'): UnprocessableError {
  return new UnprocessableError(
    'contact_blocked',
    `The contact is blocked and ${consequence}. Unblock the contact first: set its field blocked to false`,
  )
}

async function findPhoneOwner(scope: Scope, phone: string | undefined): Promise<string | undefined> {
  if (phone === undefined) return undefined
  const contacts = await findByPhone(scope, [{ phone }])
  return contacts.get(toPhoneKey(phone))
}

async function findExternalId(scope: Scope, externalId: string | null | undefined): Promise<string | undefined> {
  const contact = await scope.query(ContactRow).findOne('externalId', externalId ?? null)
  return contact?.id
}
