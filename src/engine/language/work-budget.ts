import { StepError } from './step-error.ts'

/** Work of one execution of a step. */
export const STEP_WORK_MAX = 1_000_000
/** Work of one mailbox item, for all workflows that it may start and all steps that it lets execute. */
export const ITEM_WORK_MAX = 5_000_000
/** Work of one transaction, after which the other items are put back. It holds locks meanwhile, and others may share it. */
export const BATCH_WORK_MAX = 2_000_000

const EXCEEDED = 'budget_exceeded'

type Budget = { left: number; readonly outer: Budget | null }

let current: Budget | null = null

/**
 * Executes a synchronous function that may spend at most so many units of work, and not more than surrounding budgets
 * have left. A unit is about 0.1 µs. Units are counted from sizes, not measured, so that the same input always ends at
 * the same place. Returns the units that were spent, besides the result.
 */
export function withWorkBudget<T>(units: number, act: () => T): { result: T; spent: number } {
  const budget: Budget = { left: units, outer: current }
  current = budget
  try {
    return { result: act(), spent: units - budget.left }
  } finally {
    current = budget.outer
  }
}

/** @throws StepError `budget_exceeded` */
export function spendWork(units: number): void {
  let isExceeded = false
  for (let budget = current; budget; budget = budget.outer) {
    budget.left -= units
    isExceeded ||= budget.left < 0
  }
  if (isExceeded) throw budgetExceededError()
}

export function isBudgetExceeded(error: unknown): boolean {
  return error instanceof StepError && error.code === EXCEEDED
}

export function budgetExceededError(): StepError {
  const message =
    'The step needs too much work. Use shorter lists and texts, fewer placeholders and filters, or simpler patterns'
  return new StepError(EXCEEDED, message, { retryable: false })
}
