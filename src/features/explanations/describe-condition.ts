import type { Comparison, Condition } from '../../engine/language/conditions.ts'

const LENGTH_MAX = 300

/** Formats a condition as a text such as `contact.language eq "es" and not (contact.tags has_tag "vip")`. */
export function describeCondition(condition: Condition): string {
  const text = format(condition)
  return text.length > LENGTH_MAX ? `${text.slice(0, LENGTH_MAX)}…` : text
}

function format(condition: Condition): string {
  if ('all' in condition) return condition.all.map(formatNested).join(' and ')
  if ('any' in condition) return condition.any.map(formatNested).join(' or ')
  if ('not' in condition) return `not (${format(condition.not)})`
  return formatComparison(condition)
}

function formatNested(condition: Condition): string {
  return 'all' in condition || 'any' in condition ? `(${format(condition)})` : format(condition)
}

function formatComparison({ left, op, right }: Comparison): string {
  const subject = typeof left === 'string' ? left.replaceAll(/\{\{\s*(.*?)\s*\}\}/g, '$1') : String(left)
  return right === undefined ? `${subject} ${op}` : `${subject} ${op} ${JSON.stringify(right)}`
}
