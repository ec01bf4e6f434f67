import type { z } from 'zod'
import { StepError } from './step-error.ts'
import { resolveValue, type Source } from './values.ts'
import { isBudgetExceeded } from './work-budget.ts'

export type Comparison = { left: string | number | boolean; op: string; right?: unknown }
export type Condition = { all: Condition[] } | { any: Condition[] } | { not: Condition } | Comparison

export type OperatorIssue = { message: string; params: { code: string } }

/** A way to compare two values. */
export interface Operator {
  readonly name: string
  /** Tests `left` alone: `right` may be left out, and a `right` of false negates the test. */
  readonly isUnary: boolean
  /** Problem of a `right` without placeholders, found when a definition is compiled. */
  checkRight(right: unknown): OperatorIssue | undefined
  test(left: unknown, right: unknown, source: Source): boolean
}

export type OperatorRegistry = ReadonlyMap<string, Operator>

/** The operators of a language, and the schema of the conditions that they form. */
export type ConditionLanguage = { operators: OperatorRegistry; schema: z.ZodType<Condition> }

export function defineOperator(operator: Pick<Operator, 'name' | 'test'> & Partial<Operator>): Operator {
  return { isUnary: false, checkRight: () => undefined, ...operator }
}

/**
 * Evaluates a condition. A value that cannot be read counts as null, so that a condition fails only for its cost.
 * @throws StepError `budget_exceeded`
 */
export function evaluateCondition(condition: Condition, source: Source, operators: OperatorRegistry): boolean {
  if ('all' in condition) return condition.all.every((part) => evaluateCondition(part, source, operators))
  if ('any' in condition) return condition.any.some((part) => evaluateCondition(part, source, operators))
  if ('not' in condition) return !evaluateCondition(condition.not, source, operators)
  const { left, op, right } = condition
  const operator = operators.get(op)
  return operator !== undefined && operator.test(readValue(left, source), readValue(right, source), source)
}

function readValue(value: unknown, source: Source): unknown {
  try {
    return resolveValue(value, source) ?? null
  } catch (error) {
    if (error instanceof StepError && !isBudgetExceeded(error)) return null
    throw error
  }
}
