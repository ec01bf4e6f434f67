import { raw } from 'objection'
import { Contact as ContactRow } from '../../models/contacts/contact.ts'
import type { Scope } from '../../scope.ts'
import type { Contact } from './schema.ts'

type Tags = { tags: Contact['tags'] }

/** One statement brings a contact and its tags: a page of contacts is one round trip. */
const TAGS = raw(`coalesce((
  select json_agg(json_build_object('id', t.id, 'name', t.name, 'color', t.color) order by lower(t.name))
  from contact_tags ct join tags t on t.tenant_id = ct.tenant_id and t.id = ct.tag_id
  where ct.tenant_id = contacts.tenant_id and ct.contact_id = contacts.id), '[]') as tags`)

export function contactQuery(scope: Scope) {
  return scope.query(ContactRow).select('contacts.*', TAGS)
}

export function toContact(row: ContactRow): Contact {
  const { marketingConsent, consentSource, consentAt, ...rest } = row
  const consent = { marketing: marketingConsent, source: consentSource, at: consentAt }
  return { ...(rest as Omit<ContactRow, keyof Contact> & Omit<Contact, 'consent'> & Tags), consent }
}
