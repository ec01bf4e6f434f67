import { normalizeText } from '../engine/language/normalize-text.ts'
import { spendWork } from '../engine/language/work-budget.ts'
import { toText } from '../engine/language/values.ts'
import { parseInstant } from '../platform/calendar/zoned-time.ts'

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

export function isScalar(value: unknown): boolean {
  return isText(value) || typeof value === 'number' || typeof value === 'boolean'
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const COMPARISON_WORK = 20
const INSTANT_WORK = 150
const CHARACTER_WORK = 0.1

/**
 * Compares text without regard to case and outer blanks, and numbers also when written as text.
 * @throws StepError `budget_exceeded`
 */
export function isEqual(left: unknown, right: unknown): boolean {
  spendWork(COMPARISON_WORK + (measureText(left) + measureText(right)) * CHARACTER_WORK)
  if (!isScalar(left) || !isScalar(right)) return isEqualJson(left, right)
  if (isText(left) && isText(right)) return normalizeText(left) === normalizeText(right)
  const [a, b] = [toNumber(left), toNumber(right)]
  return a !== undefined && b !== undefined ? a === b : normalizeText(toText(left)) === normalizeText(toText(right))
}

/** @throws StepError `budget_exceeded` */
export function readInstant(text: string, timezone: string): number | undefined {
  spendWork(INSTANT_WORK + text.length * CHARACTER_WORK)
  return parseInstant(text, timezone)
}

function isEqualJson(left: unknown, right: unknown): boolean {
  const [first = '', second = ''] = [JSON.stringify(left), JSON.stringify(right)]
  spendWork((first.length + second.length) * CHARACTER_WORK)
  return first === second
}

function measureText(value: unknown): number {
  return isText(value) ? value.length : 0
}

/**
 * Orders numbers by size, times by instant and other texts by letters; undefined for values that have no order.
 * @throws StepError `budget_exceeded`
 */
export function compareOrder(left: unknown, right: unknown, timezone: string): number | undefined {
  const [a, b] = [toNumber(left), toNumber(right)]
  if (a !== undefined && b !== undefined) return a - b
  if (!isText(left) || !isText(right)) return undefined
  const [from, to] = [readInstant(left, timezone), readInstant(right, timezone)]
  if (from !== undefined && to !== undefined) return from - to
  const [first, second] = [normalizeText(left), normalizeText(right)]
  return first < second ? -1 : Number(first > second)
}

export function toList(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  return value === null ? [] : [value]
}

function toNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  return isText(value) && /^\s*[+-]?\d+(\.\d+)?\s*$/.test(value) ? Number(value) : undefined
}
