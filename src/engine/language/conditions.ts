import { parseInstant } from '../../platform/zoned-time.ts'
import type { Comparison, Condition, Operator } from './definition/condition.ts'
import { normalizeText } from './normalize-text.ts'
import { matchesPattern } from './patterns.ts'
import { StepError } from './step-error.ts'
import { toText, resolveValue, type Source } from './values.ts'

/**
 * Whether a condition holds. Text is compared without regard to case and outer blanks, numbers also when written as
 * text. What cannot be compared, or read at all, compares as missing: a condition never fails.
 */
export function evaluateCondition(condition: Condition, source: Source): boolean {
  if ('all' in condition) return condition.all.every((part) => evaluateCondition(part, source))
  if ('any' in condition) return condition.any.some((part) => evaluateCondition(part, source))
  if ('not' in condition) return !evaluateCondition(condition.not, source)
  return compare(condition, source)
}

function compare({ left, op, right }: Comparison, source: Source): boolean {
  const given = read(left, source)
  return OPERATIONS[op](given, read(right, source), source)
}

function read(value: unknown, source: Source): unknown {
  try {
    return resolveValue(value, source) ?? null
  } catch (error) {
    if (error instanceof StepError) return null
    throw error
  }
}

type Operation = (left: unknown, right: unknown, source: Source) => boolean

const OPERATIONS: Record<Operator, Operation> = {
  eq: isEqual,
  ne: (left, right) => !isEqual(left, right),
  gt: ordered((order) => order > 0),
  gte: ordered((order) => order >= 0),
  lt: ordered((order) => order < 0),
  lte: ordered((order) => order <= 0),
  contains,
  not_contains: (left, right) => !contains(left, right),
  starts_with: (left, right) => isText(left) && isText(right) && normalizeText(left).startsWith(normalizeText(right)),
  ends_with: (left, right) => isText(left) && isText(right) && normalizeText(left).endsWith(normalizeText(right)),
  matches: (left, right) => isPlain(left) && isText(right) && matchesPattern(right, toText(left)),
  in: (left, right) => listOf(right).some((entry) => isEqual(left, entry)),
  not_in: (left, right) => !listOf(right).some((entry) => isEqual(left, entry)),
  exists: (left, right) => (left !== null) === (right !== false),
  empty: (left, right) => isEmpty(left) === (right !== false),
  has_tag: (left, right) => names(left, 'tags', 'name').some((name) => isEqual(name, right)),
  in_group: (left, right) => names(left, 'groupIds', 'id').some((id) => isEqual(id, right)),
  is_open: (left, right, source) => isAhead(left, source) === (right !== false),
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isPlain(value: unknown): boolean {
  return isText(value) || typeof value === 'number' || typeof value === 'boolean'
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  return isText(value) && /^\s*[+-]?\d+(\.\d+)?\s*$/.test(value) ? Number(value) : undefined
}

function isEqual(left: unknown, right: unknown): boolean {
  if (!isPlain(left) || !isPlain(right)) return JSON.stringify(left) === JSON.stringify(right)
  if (isText(left) && isText(right)) return normalizeText(left) === normalizeText(right)
  const [a, b] = [numberOf(left), numberOf(right)]
  return a !== undefined && b !== undefined ? a === b : normalizeText(toText(left)) === normalizeText(toText(right))
}

/** Numbers by size, moments by time, other texts by their letters; a mixture has no order. */
function ordered(holds: (order: number) => boolean): Operation {
  return (left, right, { timezone }) => {
    const [a, b] = [numberOf(left), numberOf(right)]
    if (a !== undefined && b !== undefined) return holds(a - b)
    if (!isText(left) || !isText(right)) return false
    const [from, to] = [parseInstant(left, timezone), parseInstant(right, timezone)]
    if (from !== undefined && to !== undefined) return holds(from - to)
    const [first, second] = [normalizeText(left), normalizeText(right)]
    return holds(first < second ? -1 : Number(first > second))
  }
}

function contains(left: unknown, right: unknown): boolean {
  if (Array.isArray(left)) return left.some((entry) => isEqual(entry, right))
  if (!isPlain(left) || !isPlain(right)) return false
  return normalizeText(toText(left)).includes(normalizeText(toText(right)))
}

function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  return value === null ? [] : [value]
}

function isEmpty(value: unknown): boolean {
  if (value === null) return true
  if (isText(value)) return value.trim() === ''
  return typeof value === 'object' && Object.keys(value).length === 0
}

/** The entries of a list, or of the list that an object keeps under `field`; an entry that is an object goes by `key`. */
function names(value: unknown, field: string, key: string): unknown[] {
  const list = isObject(value) ? value[field] : value
  return listOf(list ?? null).map((entry) => (isObject(entry) ? entry[key] : entry))
}

/** A moment still to come, or a conversation whose window closes at one. */
function isAhead(value: unknown, { roots, timezone }: Source): boolean {
  const closes = isObject(value) ? value['windowExpiresAt'] : value
  const [until, now] = [closes, roots.now].map((at) => (isText(at) ? parseInstant(at, timezone) : undefined))
  return until !== undefined && now !== undefined && now < until
}
