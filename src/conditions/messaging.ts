import { defineOperator } from '../engine/language/conditions.ts'
import type { Source } from '../engine/language/values.ts'
import { isEqual, isObject, isText, readInstant, toList } from './compare.ts'

/** `left` is a contact or a list of tags. */
export const hasTag = defineOperator({
  name: 'has_tag',
  test: (left, right) => listNames(left, 'tags', 'name').some((name) => isEqual(name, right)),
})

/** `left` is a contact or a list of groups. */
export const inGroup = defineOperator({
  name: 'in_group',
  test: (left, right) => listNames(left, 'groupIds', 'id').some((id) => isEqual(id, right)),
})

/** `left` is a time in the future, or a conversation whose service window is open. */
export const isOpen = defineOperator({
  name: 'is_open',
  isUnary: true,
  test: (left, right, source) => isInFuture(left, source) === (right !== false),
})

/** Entries of a list, or of the list in an object's `field`; an entry that is an object is represented by its `key`. */
function listNames(value: unknown, field: string, key: string): unknown[] {
  const list = isObject(value) ? value[field] : value
  return toList(list ?? null).map((entry) => (isObject(entry) ? entry[key] : entry))
}

function isInFuture(value: unknown, { roots, timezone }: Source): boolean {
  const expiresAt = isObject(value) ? value['windowExpiresAt'] : value
  const [until, now] = [expiresAt, roots.now].map((at) => (isText(at) ? readInstant(at, timezone) : undefined))
  return until !== undefined && now !== undefined && now < until
}
