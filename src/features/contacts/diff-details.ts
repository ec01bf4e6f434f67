import { isDeepStrictEqual } from 'node:util'

type Contact = Readonly<Record<string, unknown>>

/** Details of a contact: the property of the model, and the name that workflows use in `contact_updated` triggers. */
const DETAILS: [property: string, name: string][] = [
  ['name', 'name'],
  ['phone', 'phone'],
  ['email', 'email'],
  ['username', 'username'],
  ['language', 'language'],
  ['country', 'country'],
  ['timezone', 'timezone'],
  ['blocked', 'blocked'],
  ['externalId', 'externalId'],
  ['marketingConsent', 'consent'],
]

/** Lists the details that differ, as `email` or `fields.plan`. */
export function diffDetails(previous: Contact, updated: Contact): string[] {
  const details = DETAILS.filter(([property]) => !isDeepStrictEqual(previous[property], updated[property]))
  const [previousFields, updatedFields] = [customFields(previous), customFields(updated)]
  const keys = new Set([...previousFields.keys(), ...updatedFields.keys()])
  const fields = [...keys].filter((key) => !isDeepStrictEqual(previousFields.get(key), updatedFields.get(key)))
  return [...details.map(([, name]) => name), ...fields.map((key) => `fields.${key}`)]
}

function customFields({ fields }: Contact): Map<string, unknown> {
  return new Map(typeof fields === 'object' && fields !== null ? Object.entries(fields) : [])
}
