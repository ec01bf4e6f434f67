import { toPhoneKey } from '../../../platform/phone.ts'
import { BulkItem, type BulkResult, type MatchBy } from './schema.ts'

export type ItemError = NonNullable<BulkResult['error']>

/** The items of one person, merged. `key` is the value that they match by, in its normal form. */
export type Person = { key: string; item: BulkItem; indexes: number[] }

/** Checks each item by itself, and merges those of one person. */
export function readPersons(
  items: readonly unknown[],
  matchBy: MatchBy,
): { persons: Person[]; failed: Map<number, ItemError> } {
  const persons = new Map<string, Person>()
  const failed = new Map<number, ItemError>()
  for (const [index, raw] of items.entries()) {
    const parsed = BulkItem.safeParse(raw)
    if (!parsed.success) {
      failed.set(index, invalidItem(parsed.error.issues[0]))
      continue
    }
    const item = parsed.data
    const key = toKey(item, matchBy)
    if (key === null) {
      failed.set(index, { code: 'validation_failed', message: `${matchBy} is required, as items match by it` })
      continue
    }
    const person = persons.get(key)
    if (person) {
      person.item = merge(person.item, item)
      person.indexes.push(index)
    } else persons.set(key, { key, item, indexes: [index] })
  }
  return { persons: [...persons.values()], failed }
}

/** Returns the value by which an item or a contact is found, in the form that is the same for one person. */
export function toKey(
  { phone, externalId, email }: Partial<Record<MatchBy, string | null | undefined>>,
  matchBy: MatchBy,
): string | null {
  if (matchBy === 'externalId') return externalId ?? null
  if (matchBy === 'email') return email?.toLowerCase() ?? null
  return phone == null ? null : toPhoneKey(phone)
}

function merge(former: BulkItem, later: BulkItem): BulkItem {
  const tags = [...(former.tags ?? []), ...(later.tags ?? [])]
  return {
    ...former,
    ...later,
    ...(former.fields && later.fields ? { fields: { ...former.fields, ...later.fields } } : {}),
    ...(tags.length > 0 ? { tags } : {}),
  }
}

type Issue = { code: string; path: PropertyKey[]; message: string; keys?: string[] }

function invalidItem(issue: Issue | undefined): ItemError {
  const path = issue?.path.join('.') ?? ''
  const message =
    issue?.code === 'unrecognized_keys'
      ? `${issue.keys?.[0] ?? 'a field'} is not a field of a contact`
      : `${path || 'the item'} ${issue?.message ?? 'is not valid'}`
  return { code: 'validation_failed', message }
}
