import { z } from 'zod'
import type { Condition, ConditionLanguage, Operator, OperatorIssue } from '../conditions.ts'
import { didYouMean } from '../../../platform/closest-matches.ts'
import { hasPlaceholder } from '../template.ts'

const FORMS = 'must be one of all, any, not, or left with op'

export function conditionLanguage(operators: readonly Operator[]): ConditionLanguage {
  const registry = new Map(operators.map((operator) => [operator.name, operator]))
  return { operators: registry, schema: conditionSchema(operators, (op) => registry.get(op)) }
}

/**
 * Reads the four forms as one object and tells them apart afterwards, so that a mistake deep inside is reported at its
 * own path instead of as "none of four forms".
 */
function conditionSchema(
  operators: readonly Operator[],
  find: (name: string) => Operator | undefined,
): z.ZodType<Condition> {
  const names = operators.map(({ name }) => name)
  const unary = operators.filter(({ isUnary }) => isUnary).map(({ name }) => name)
  const several = z.array(z.lazy(() => schema)).min(1, 'must have at least one condition')
  const schema: z.ZodType<Condition> = z
    .strictObject({
      all: several.optional(),
      any: several.optional(),
      not: z.lazy(() => schema).optional(),
      left: z.union([z.string(), z.number(), z.boolean()], 'must be text, a number, true or false').optional(),
      op: z.enum(names, { error: ({ input }) => describeUnknownOperator(input, names) }).optional(),
      right: z.unknown().optional(),
    })
    .transform(({ all, any, not, left, op, right }, issues): Condition => {
      const isComparison = left !== undefined || op !== undefined || right !== undefined
      const forms = [all, any, not].filter(Boolean).length + (isComparison ? 1 : 0)
      const reject = (message: string, path: string[] = [], code = 'invalid') => {
        issues.addIssue({ code: 'custom', message, path, params: { code } })
        return z.NEVER
      }
      if (forms !== 1) return reject(FORMS)
      if (all) return { all }
      if (any) return { any }
      if (not) return { not }
      if (left === undefined || op === undefined) return reject('is required', [left === undefined ? 'left' : 'op'])
      const operator = find(op)
      if (right === undefined) return operator?.isUnary ? { left, op } : reject(`is required by "${op}"`, ['right'])
      const issue = operator && staticIssue(operator, right)
      if (issue) return reject(issue.message, ['right'], issue.params.code)
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
          if: { properties: { op: { enum: unary } } },
          else: { required: ['right'] },
        },
      ],
    })
  return schema
}

/** Operators of other languages. */
const SYNONYMS = new Map([
  ['=', 'eq'],
  ['==', 'eq'],
  ['===', 'eq'],
  ['equal', 'eq'],
  ['equals', 'eq'],
  ['!=', 'ne'],
  ['!==', 'ne'],
  ['>', 'gt'],
  ['>=', 'gte'],
  ['<', 'lt'],
  ['<=', 'lte'],
])

function describeUnknownOperator(input: unknown, names: readonly string[]): string {
  const rule = `must be one of ${names.map((name) => JSON.stringify(name)).join(', ')}`
  if (typeof input !== 'string') return rule
  const synonym = SYNONYMS.get(input)
  const suggestion = synonym === undefined ? didYouMean(input, names) : `Did you mean ${synonym}?`
  return suggestion === undefined ? rule : `${rule}. ${suggestion}`
}

function staticIssue(operator: Operator, right: unknown): OperatorIssue | undefined {
  return typeof right === 'string' && hasPlaceholder(right) ? undefined : operator.checkRight(right)
}
