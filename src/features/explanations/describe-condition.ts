import type { Comparison, Condition } from '../../engine/language/conditions.ts'

const LENGTH_MAX = 300

/** A condition as one would say it: `contact.language eq "es" and not (contact.tags has_tag "vip")`. */
export function describeCondition(condition: Condition): string {
  const text = describe(condition)
  return text.length > LENGTH_MAX ? `${text.slice(0, LENGTH_MAX)}…` : text
}

function describe(condition: Condition): string {
  if ('all' in condition) return condition.all.map(nested).join(' and ')
  if ('any' in condition) return condition.any.map(nested).join(' or ')
  if ('not' in condition) return `not (${describe(condition.not)})`
  return compare(condition)
}

function nested(condition: Condition): string {
  return 'all' in condition || 'any' in condition ? `(${describe(condition)})` : describe(condition)
}

function compare({ left, op, right }: Comparison): string {
  const subject = typeof left === 'string' ? left.replaceAll(/\{\{\s*(.*?)\s*\}\}/g, '$1') : String(left)
  return right === undefined ? `${subject} ${op}` : `${subject} ${op} ${JSON.stringify(right)}`
}
