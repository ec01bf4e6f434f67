import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import { ROOTS } from '../../engine/language/values.ts'
import { type RawPart, listSteps, listTriggers, valuesAt } from '../workflows/stored-definition.ts'

const CONDITIONS = ['if', 'while', 'match', 'cases.*.if']

/** A path without its braces is a text like any other. */
const BARE_PATH = new RegExp(`^(?:${ROOTS.join('|')})(?:\\.[\\w-]+)+$`)

/** These compare with one text or number: a list is equal to none. */
const WITH_ONE: ReadonlySet<unknown> = new Set(
  'gt gte lt lte contains not_contains starts_with ends_with has_tag in_group'.split(' '),
)

type Comparison = { path: string; left: unknown; op: unknown; right: unknown }

/** Warns of conditions of a sound definition that can only ever come to the same. */
export function checkConditions(definition: unknown): Problem[] {
  return [...listTriggers(definition), ...listSteps(definition)].flatMap((part) => problemsIn(part))
}

function problemsIn(part: RawPart): Problem[] {
  const comparisons = CONDITIONS.flatMap((at) => valuesAt(part, at)).flatMap(comparisonsIn)
  return comparisons.flatMap(({ path, left, op, right }) => {
    if (typeof left === 'string' && BARE_PATH.test(left)) {
      const what = `is the text ${JSON.stringify(left)} itself: write {{${left}}} to read it`
      return [problemAt(part.place, `${path}.left`, 'literal_instead_of_placeholder', what)]
    }
    const isOfNoUse = op === 'matches' ? typeof right !== 'string' : WITH_ONE.has(op) && typeof right === 'object'
    if (!isOfNoUse) return []
    const what =
      op === 'matches'
        ? 'is no text, and matches nothing'
        : `is not one text or number, which "${String(op)}" compares with: put several into an any`
    return [problemAt(part.place, `${path}.right`, 'not_comparable', what)]
  })
}

function comparisonsIn({ path, value }: { path: string; value: unknown }): Comparison[] {
  if (typeof value !== 'object' || value === null) return []
  const { left, op, right, ...groups } = value as Record<string, unknown>
  const own = op === undefined ? [] : [{ path, left, op, right }]
  const within = Object.entries(groups).flatMap(([name, group]) =>
    Array.isArray(group)
      ? group.flatMap((one: unknown, index) => comparisonsIn({ path: `${path}.${name}.${index}`, value: one }))
      : comparisonsIn({ path: `${path}.${name}`, value: group }),
  )
  return [...own, ...within]
}
