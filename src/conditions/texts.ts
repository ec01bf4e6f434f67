import { defineOperator } from '../engine/language/conditions.ts'
import { normalizeText } from '../engine/language/normalize-text.ts'
import { matchesPattern, patternIssue } from '../engine/language/patterns.ts'
import { toText } from '../engine/language/values.ts'
import { isEqual, isScalar, isText } from './compare.ts'

/** Tests for a part of a text, or for an entry of a list. */
export const contains = defineOperator({ name: 'contains', test: includes })
export const notContains = defineOperator({ name: 'not_contains', test: (left, right) => !includes(left, right) })

export const startsWith = defineOperator({
  name: 'starts_with',
  test: (left, right) => isText(left) && isText(right) && normalizeText(left).startsWith(normalizeText(right)),
})

export const endsWith = defineOperator({
  name: 'ends_with',
  test: (left, right) => isText(left) && isText(right) && normalizeText(left).endsWith(normalizeText(right)),
})

export const matches = defineOperator({
  name: 'matches',
  checkRight: (right) => (isText(right) ? patternIssue(right) : undefined),
  test: (left, right) => isScalar(left) && isText(right) && matchesPattern(right, toText(left)),
})

function includes(left: unknown, right: unknown): boolean {
  if (Array.isArray(left)) return left.some((entry) => isEqual(entry, right))
  if (!isScalar(left) || !isScalar(right)) return false
  return normalizeText(toText(left)).includes(normalizeText(toText(right)))
}
