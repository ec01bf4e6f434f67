import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import { ROOTS } from '../../engine/language/values.ts'
import { type DefinitionPart, findValues } from '../workflows/stored-definition.ts'
import type { ValidParts } from './check-ineffective-fields.ts'

const CONDITIONS = ['if', 'while', 'match', 'cases.*.if']

/** Matches a path without braces, which is read as literal text. */
const UNBRACED_PATH = new RegExp(`^(?:${ROOTS.join('|')})(?:\\.[\\w-]+)+$`)

/** Operators that compare with a single text or number; a list never matches. */
const SINGLE_VALUE_OPERATORS: ReadonlySet<unknown> = new Set(
  'gt gte lt lte contains not_contains starts_with ends_with has_tag in_group'.split(' '),
)

type Comparison = { path: string; left: unknown; op: unknown; right: unknown }

/** Warns of conditions of valid parts that always have the same result. */
export function checkConditions({ triggers, steps }: Pick<ValidParts, 'triggers' | 'steps'>): Problem[] {
  return [...triggers, ...steps].flatMap((part) => findProblems(part))
}

function findProblems(part: DefinitionPart): Problem[] {
  const comparisons = CONDITIONS.flatMap((at) => findValues(part, at)).flatMap(listComparisons)
  return comparisons.flatMap(({ path, left, op, right }) => {
    if (typeof left === 'string' && UNBRACED_PATH.test(left)) {
      const description = `is the literal text ${JSON.stringify(left)}: write {{${left}}} to read the value`
      return [problemAt(part.location, `${path}.left`, 'literal_instead_of_placeholder', description)]
    }
    const isAlwaysFalse =
      op === 'matches' ? typeof right !== 'string' : SINGLE_VALUE_OPERATORS.has(op) && typeof right === 'object'
    if (!isAlwaysFalse) return []
    const description =
      op === 'matches'
        ? 'is not a text, so it never matches'
        : `is not a single text or number, as "${String(op)}" requires: use an any condition to compare with several`
    return [problemAt(part.location, `${path}.right`, 'not_comparable', description)]
  })
}

function listComparisons({ path, value }: { path: string; value: unknown }): Comparison[] {
  if (typeof value !== 'object' || value === null) return []
  const { left, op, right, ...groups } = Object.fromEntries(Object.entries(value))
  const comparisons = op === undefined ? [] : [{ path, left, op, right }]
  const nested = Object.entries(groups).flatMap(([name, group]) =>
    Array.isArray(group)
      ? group.flatMap((one: unknown, index) => listComparisons({ path: `${path}.${name}.${index}`, value: one }))
      : listComparisons({ path: `${path}.${name}`, value: group }),
  )
  return [...comparisons, ...nested]
}
