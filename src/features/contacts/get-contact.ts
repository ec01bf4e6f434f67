import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { contactRows, presentContact } from './contact-query.ts'
import type { Contact, ContactRef } from './schema.ts'

export async function getContact(scope: Scope, { contactId }: ContactRef): Promise<Contact> {
  const row = isUuid(contactId) ? await contactRows(scope).findOne('contacts.id', contactId) : undefined
  if (!row) throw new NotFoundError('Contact')
  return presentContact(row)
}
