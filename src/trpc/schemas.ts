import { z } from 'zod'

/**
 * Shapes of the wire that more than one feature uses. None of them converts: the REST adapter has already turned the
 * text of a query into numbers and booleans, and the native endpoint sends them as they are.
 */

/** Text Postgres can store: no NUL, no half of a surrogate pair. */
export function text(max: number, min = 1) {
  return z
    .string()
    .trim()
    .min(min, min === 1 ? 'must not be empty' : `must have at least ${min} characters`)
    .max(max, `must have at most ${max} characters`)
    .refine(isStorable, 'contains characters that cannot be stored')
}

function isStorable(value: string): boolean {
  return !value.includes('\u0000') && value.isWellFormed()
}

/** Any id of a path or body. Its form is not checked here: a malformed id is a row that is not there. */
export const id = z.string().meta({ description: 'A UUID', examples: ['0199a7a0-0000-7000-8000-000000000001'] })

const MAX_DEPTH = 32

/** Free-form JSON that a caller may store: bounded in depth, and storable to its last key. */
export const json = z.record(z.string(), z.unknown()).superRefine((value, issues) => {
  const problem = findProblem(value, MAX_DEPTH)
  if (problem) issues.addIssue({ code: 'custom', message: problem })
})

/** One value of such JSON. */
export const jsonValue = z.unknown().superRefine((value, issues) => {
  const problem = findProblem(value, MAX_DEPTH)
  if (problem) issues.addIssue({ code: 'custom', message: problem })
})

function findProblem(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return isStorable(value) ? undefined : 'contains characters that cannot be stored'
  if (typeof value !== 'object' || value === null) return undefined
  if (depth === 0) return `is nested deeper than ${MAX_DEPTH} levels`
  for (const [key, child] of Object.entries(value)) {
    const problem = findProblem(key, depth) ?? findProblem(child, depth - 1)
    if (problem) return problem
  }
  return undefined
}

const LIMIT = 'must be an integer between 1 and 100'
const OFFSET = 'must be an integer of 0 or more'
/** Postgres counts rows in bigint, but an offset past this is a mistake. */
const OFFSET_MAX = 2 ** 31 - 1

/** What every list that comes in pages takes. */
export const page = {
  limit: z.int(LIMIT).min(1, LIMIT).max(100, LIMIT).default(20),
  offset: z.int(OFFSET).min(0, OFFSET).max(OFFSET_MAX, OFFSET).default(0),
}

export type Page<T> = { items: T[]; total: number }

export function toPage<T extends z.ZodType>(item: T) {
  return z.object({ items: z.array(item), total: z.int() })
}

/** A moment in an answer: ISO-8601, UTC, milliseconds. */
export const timestamp = z.date().meta({ override: { type: 'string', format: 'date-time' } })

export const empty = z.object({})
