import { isDeepStrictEqual } from 'node:util'

type Contact = Readonly<Record<string, unknown>>

/** A contact's details, by their columns, as workflows and the API name them. */
const DETAILS: [column: string, name: string][] = [
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

/** Which details differ: `email`, `fields.plan`. */
export function diffDetails(before: Contact, after: Contact): string[] {
  const details = DETAILS.filter(([column]) => !isDeepStrictEqual(before[column], after[column])).map(
    ([, name]) => name,
  )
  const [old, fresh] = [fieldsOf(before), fieldsOf(after)]
  const keys = [...new Set([...Object.keys(old), ...Object.keys(fresh)])]
  return [...details, ...keys.filter((key) => !isDeepStrictEqual(old[key], fresh[key])).map((key) => `fields.${key}`)]
}

function fieldsOf({ fields }: Contact): Contact {
  return typeof fields === 'object' && fields !== null ? (fields as Contact) : {}
}
