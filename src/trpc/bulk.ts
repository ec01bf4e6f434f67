import { z } from 'zod'
import type { ItemCode } from '../error-codes/index.ts'
import { AppError, ForbiddenError, InvalidError } from '../platform/errors.ts'
import { id } from './schemas.ts'
import { describeUnknownField } from '../platform/unknown-field.ts'

/** Items of one call for many, which counts as one for the rate limit. */
const BULK_MAX = 500

/** A list of the items of a call for many. */
export function bulkList<T extends z.ZodType>(item: T): z.ZodArray<T> {
  return z.array(item).min(1, 'must have at least 1 entry').max(BULK_MAX, `must have at most ${BULK_MAX} entries`)
}

/** A list of items that are checked one by one with `readItem`, so that one that is wrong fails alone. */
export function bulkItems({ description, example }: { description: string; example: object }) {
  return bulkList(z.unknown()).meta({
    description,
    override: { type: 'array', items: { type: 'object' }, minItems: 1, maxItems: BULK_MAX },
    examples: [[example]],
  })
}

/** The result of an item. `noun` is what `id` is of. */
export function bulkResult<const Status extends string>(statuses: readonly Status[], noun: string) {
  return z.object({
    index: z.int().meta({ description: 'The place of the item, from 0' }),
    status: z.enum([...statuses, 'failed']),
    id: id.nullable().meta({ description: `The ${noun}; null if the item failed` }),
    error: z
      .object({ code: z.string(), message: z.string() })
      .nullable()
      .meta({ description: 'The reason of an item that failed', examples: [null] }),
  })
}

/** The reason why an item failed. */
export type ItemError = { code: ItemCode; message: string }

/** Does the work of one item. Returns the error that it throws for the caller; other errors pass. */
export function tryItem<T>(work: () => T): T | AppError {
  try {
    return work()
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

/** True for an item without an error. */
export function isValid<T>(item: T | AppError): item is T {
  return !(item instanceof AppError)
}

/** Does work for all items without an error together. Its outcomes take their places. */
export async function mapValid<T, R>(
  items: readonly (T | AppError)[],
  work: (valid: T[]) => Promise<readonly (R | AppError)[]>,
): Promise<(R | AppError)[]> {
  const valid = items.filter(isValid)
  const outcomes = valid.length > 0 ? await work(valid) : []
  const results = outcomes.values()
  return items.map((item) => {
    if (!isValid(item)) return item
    const { value } = results.next()
    if (value === undefined) throw new Error('the work of a call for many has no outcome for an item')
    return value
  })
}

/** Checks an item by itself. `noun` says in the error what has its fields, such as `a contact`. */
export function readItem<T extends z.ZodType>(schema: T, item: unknown, noun: string): z.output<T> | AppError {
  const parsed = schema.safeParse(item)
  return parsed.success ? parsed.data : new InvalidError(describeIssues(parsed.error.issues, noun))
}

type Issue = { code: string; path: PropertyKey[]; message: string; keys?: string[] }

const ISSUES_MAX = 5

function describeIssues(issues: Issue[], noun: string): string {
  return issues
    .slice(0, ISSUES_MAX)
    .map((issue) => describeIssue(issue, noun))
    .join('; ')
}

function describeIssue(issue: Issue, noun: string): string {
  const path = issue.path
  if (issue.code === 'unrecognized_keys') {
    const [key = 'a field'] = issue.keys ?? []
    return `${[...path, key].join('.')} ${describeUnknownField(key, issue.message, noun)}`
  }
  return `${path.join('.') || 'the item'} ${issue.message}`
}

export function toItemError(error: AppError): ItemError {
  // The answer of a call for one has this reason in a header.
  const reason = error instanceof ForbiddenError ? error.challenge?.error_description : undefined
  return { code: error.code, message: reason ?? error.message }
}

/** Builds the results of items in their order, each from its ID or error. */
export function toResults<Status extends string>(outcomes: readonly ({ status: Status; id: string } | AppError)[]) {
  return outcomes.map((outcome, index) =>
    outcome instanceof AppError
      ? { index, status: 'failed' as const, id: null, error: toItemError(outcome) }
      : { index, status: outcome.status, id: outcome.id, error: null },
  )
}

/** Counts results by their status. */
export function countStatuses<Status extends string>(
  results: readonly { status: Status }[],
  statuses: readonly Status[],
): Record<Status, number> {
  const counts = Object.fromEntries(statuses.map((status) => [status, 0])) as Record<Status, number>
  for (const { status } of results) counts[status] += 1
  return counts
}
