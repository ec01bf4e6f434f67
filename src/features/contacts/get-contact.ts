import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { contactQuery, toContact } from './contact-query.ts'
import type { Contact, ContactRef } from './schema.ts'

export async function getContact(scope: Scope, { contactId }: ContactRef): Promise<Contact> {
  const row = isUuid(contactId) ? await contactQuery(scope).findOne('contacts.id', contactId) : undefined
  if (!row) throw new NotFoundError('Contact')
  return toContact(row)
}
