import { type CsvValue, toCsvLine } from '../../platform/csv/write-csv.ts'
import { joinFragments, sqlFragment } from '../../platform/database/statements/statement.ts'
import { NIL_ID } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { readItems } from '../paging/read-items.ts'
import { CONTACT_SOURCE, type ContactFilter, type ContactView, readFilter, toContact } from './queries.ts'
import { type Contact, ListContacts } from './schema.ts'

/** Custom fields have up to 64 KB each. */
const PAGE = 200

export const ExportContacts = ListContacts.pick({ q: true, phone: true, tag: true, groupId: true })

/** The columns that an import recognizes by their names, and others. */
const COLUMNS: Record<string, (contact: Contact) => CsvValue> = {
  id: ({ id }) => id,
  name: ({ name }) => name,
  phone: ({ phone }) => phone,
  email: ({ email }) => email,
  language: ({ language }) => language,
  timezone: ({ timezone }) => timezone,
  externalId: ({ externalId }) => externalId,
  tags: ({ tags }) => tags.map(({ name }) => name).join(';'),
  fields: ({ fields }) => JSON.stringify(fields),
  username: ({ username }) => username,
  country: ({ country }) => country,
  marketingConsent: ({ consent }) => consent.marketing,
  consentSource: ({ consent }) => consent.source,
  consentAt: ({ consent }) => consent.at,
  blocked: ({ blocked }) => blocked,
  source: ({ source }) => source,
  lastInboundAt: ({ lastInboundAt }) => lastInboundAt,
  lastOutboundAt: ({ lastOutboundAt }) => lastOutboundAt,
  createdAt: ({ createdAt }) => createdAt,
  updatedAt: ({ updatedAt }) => updatedAt,
}

/**
 * Returns the contacts that a filter finds as lines, in the order of their IDs. They are read in short statements, as fast
 * as the client takes them: contacts that change meanwhile are there as they are when they are read.
 */
export async function* exportContacts(
  scope: Scope,
  { type, filter }: { type: 'text/csv' | 'application/x-ndjson'; filter: ContactFilter },
): AsyncGenerator<string> {
  const isCsv = type === 'text/csv'
  if (isCsv) yield toCsvLine(Object.keys(COLUMNS))
  const toLine = (contact: Contact) =>
    isCsv ? toCsvLine(Object.values(COLUMNS).map((toValue) => toValue(contact))) : `${JSON.stringify(contact)}\n`
  let after: string = NIL_ID
  for (let count = PAGE; count === PAGE;) {
    const contacts = await readPortion(scope, filter, after)
    count = contacts.length
    after = contacts.at(-1)?.id ?? after
    if (count > 0) yield contacts.map(toLine).join('')
  }
}

async function readPortion(scope: Scope, filter: ContactFilter, after: string): Promise<Contact[]> {
  const found = await readFilter(scope, filter)
  if (!found) return []
  const conditions = joinFragments(
    found.conditions.map((condition) => sqlFragment`and ${condition}`),
    ' ',
  )
  const rows = await readItems<ContactView>(
    scope,
    'exportContacts',
    CONTACT_SOURCE,
    sqlFragment`contacts.id = any(array(
      select t.id from contacts t where t.tenant_id = ${scope.tenantId} and t.id > ${after} ${conditions}
      order by t.id limit ${PAGE})) order by contacts.id`,
  )
  return rows.map(toContact)
}
