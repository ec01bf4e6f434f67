import { Contact as ContactRow } from '../../models/contacts/contact.ts'
import { ConflictError, UnprocessableError } from '../../platform/errors.ts'
import { toE164 } from '../../platform/phone.ts'
import type { Scope } from '../../scope.ts'
import { createContact } from '../contacts/create-contact.ts'

/**
 * The contact with a number, made if `createIfMissing` says so. Two calls that bring the same stranger make one contact.
 * @throws UnprocessableError `invalid_phone`, `contact_not_found`
 */
export async function findOrCreateContact(
  scope: Scope,
  { given, createIfMissing }: { given: string; createIfMissing: boolean },
): Promise<string> {
  const phone = toE164(given)
  if (!phone) {
    throw new UnprocessableError(
      'invalid_phone',
      `contact.phone came to ${JSON.stringify(given.slice(0, 40))}, which is no number such as +14155550100`,
    )
  }
  const known = await findByPhone(scope, phone)
  if (known) return known
  if (!createIfMissing) {
    throw new UnprocessableError(
      'contact_not_found',
      `No contact has the number ${phone}. Create it first, or let the webhook create it with createIfMissing`,
    )
  }
  return createContact(scope, { name: phone, phone }).then(
    ({ id }) => id,
    async (error: unknown) => {
      const winner = error instanceof ConflictError ? await findByPhone(scope, phone) : undefined
      if (!winner) throw error
      return winner
    },
  )
}

async function findByPhone(scope: Scope, phone: string): Promise<string | undefined> {
  return (await scope.query(ContactRow).findOne({ phone }))?.id
}
