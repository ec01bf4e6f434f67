import { z } from 'zod'
import { patternIssue } from '../patterns.ts'

const OPERATORS = [
  'eq',
  'ne',
  'gt',
  'gte',
  'lt',
  'lte',
  'contains',
  'not_contains',
  'starts_with',
  'ends_with',
  'matches',
  'in',
  'not_in',
  'exists',
  'empty',
  'has_tag',
  'in_group',
  'is_open',
] as const

export type Operator = (typeof OPERATORS)[number]
export type Comparison = { left: string | number | boolean; op: Operator; right?: unknown }
export type Condition = { all: Condition[] } | { any: Condition[] } | { not: Condition } | Comparison

/** These say something about `left` alone; a `right` of false turns them round. */
const ALONE: readonly Operator[] = ['exists', 'empty', 'is_open']
const FORMS = 'must be one of all, any, not, or left with op'

const several = z.array(z.lazy(() => Condition)).min(1, 'must have at least one condition')

/**
 * The four forms are read as one object, and told apart afterwards: a mistake deep inside is then reported where it
 * stands, and not as "none of four forms".
 */
export const Condition: z.ZodType<Condition> = z
  .strictObject({
    all: several.optional(),
    any: several.optional(),
    not: z.lazy(() => Condition).optional(),
    left: z.union([z.string(), z.number(), z.boolean()], 'must be text, a number, true or false').optional(),
    op: z.enum(OPERATORS).optional(),
    right: z.unknown().optional(),
  })
  .transform(({ all, any, not, left, op, right }, issues): Condition => {
    const isComparison = left !== undefined || op !== undefined || right !== undefined
    const forms = [all, any, not].filter(Boolean).length + (isComparison ? 1 : 0)
    const refuse = (message: string, path: string[] = [], code = 'invalid') => {
      issues.addIssue({ code: 'custom', message, path, params: { code } })
      return z.NEVER
    }
    if (forms !== 1) return refuse(FORMS)
    if (all) return { all }
    if (any) return { any }
    if (not) return { not }
    if (left === undefined || op === undefined) return refuse('is required', [left === undefined ? 'left' : 'op'])
    if (right === undefined) return ALONE.includes(op) ? { left, op } : refuse(`is required by "${op}"`, ['right'])
    const issue = op === 'matches' && isStatic(right) ? patternIssue(right) : undefined
    if (issue) return refuse(issue.message, ['right'], issue.params.code)
    return { left, op, right }
  })
  .meta({
    id: 'Condition',
    oneOf: [
      { required: ['all'], maxProperties: 1 },
      { required: ['any'], maxProperties: 1 },
      { required: ['not'], maxProperties: 1 },
      {
        required: ['left', 'op'],
        properties: { all: false, any: false, not: false },
        if: { properties: { op: { enum: ALONE } } },
        else: { required: ['right'] },
      },
    ],
  })

function isStatic(right: unknown): right is string {
  return typeof right === 'string' && !right.includes('{{')
}
