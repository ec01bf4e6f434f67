import { AppError } from '../../../platform/errors.ts'
import { toPhoneKey } from '../../../platform/phone.ts'
import { areFieldsBounded, FIELDS_TOO_LARGE } from '../../../steps/contacts/contact-fields.ts'
import { TAGS_MAX } from '../schema.ts'
import { type ItemError, readItem, toItemError } from '../../../trpc/bulk.ts'
import { BulkItem, type MatchBy } from './schema.ts'

/** The items of one person, merged. `key` is the value that they match by, in its normal form. */
export type Person = { key: string; item: BulkItem; indexes: number[]; phones: string[] }

/** Checks each item by itself. */
export function readItems(
  items: readonly unknown[],
  matchBy: MatchBy,
): { valid: { key: string; item: BulkItem; index: number }[]; failed: Map<number, ItemError> } {
  const valid: { key: string; item: BulkItem; index: number }[] = []
  const failed = new Map<number, ItemError>()
  for (const [index, raw] of items.entries()) {
    const item = readItem(BulkItem, raw, 'a contact')
    const key = item instanceof AppError ? null : toKey(item, matchBy)
    if (item instanceof AppError) failed.set(index, toItemError(item))
    else if (key === null) failed.set(index, invalid(`${matchBy} is required, as items match by it`))
    else valid.push({ key, item, index })
  }
  return { valid, failed }
}

/** Checks each item by itself, and merges those of one person. */
export function readPersons(
  items: readonly unknown[],
  matchBy: MatchBy,
): { persons: Person[]; failed: Map<number, ItemError> } {
  const persons = new Map<string, Person>()
  const { valid, failed } = readItems(items, matchBy)
  for (const item of valid) addItem(persons, item)
  for (const [key, { item, indexes }] of persons) {
    // Each item is within the limits, and their merger may not be.
    const error =
      (item.tags?.length ?? 0) > TAGS_MAX
        ? invalid(`tags: must have at most ${TAGS_MAX} entries, in all items of the person`)
        : areFieldsBounded(item.fields ?? {})
          ? undefined
          : invalid(`fields: ${FIELDS_TOO_LARGE}, in all items of the person`)
    if (!error) continue
    persons.delete(key)
    for (const index of indexes) failed.set(index, error)
  }
  return { persons: [...persons.values()], failed }
}

export function addItem(
  persons: Map<string, Person>,
  { key, item, index }: { key: string; item: BulkItem; index: number },
): Person {
  const former = persons.get(key)
  const person = former ?? { key, item: item.tags ? merge({}, item) : item, indexes: [], phones: [] }
  if (former) person.item = merge(person.item, item)
  person.indexes.push(index)
  if (item.phone !== undefined) person.phones.push(item.phone)
  persons.set(key, person)
  return person
}

type Identified = Partial<Record<MatchBy, string | null | undefined>>

/** Returns the value by which an item is found, in the form that is the same for one person; that of a contact as well. */
export function toKey({ phone, externalId, email }: Identified, matchBy: MatchBy): string | null {
  if (matchBy === 'externalId') return externalId ?? null
  if (matchBy === 'email') return email?.toLowerCase() ?? null
  return phone ? toPhoneKey(phone) : null
}

function merge(former: BulkItem, later: BulkItem): BulkItem {
  const tags = [
    ...new Map([...(former.tags ?? []), ...(later.tags ?? [])].map((tag) => [tag.toLowerCase(), tag])).values(),
  ]
  return {
    ...former,
    ...later,
    ...(former.fields && later.fields ? { fields: { ...former.fields, ...later.fields } } : {}),
    ...(tags.length > 0 ? { tags } : {}),
  }
}

export function invalid(message: string): ItemError {
  return { code: 'validation_failed', message }
}
