import { z } from 'zod'
import { isTimezone } from '../platform/calendar/zoned-time.ts'

/**
 * Request and response schemas that several features share. None of them coerces: the REST adapter has already
 * converted the text of a query to numbers and booleans, and tRPC clients send the types themselves.
 */

/** Text Postgres can store: no NUL, no half of a surrogate pair. */
export function text(max: number, min = 1) {
  return z
    .string()
    .trim()
    .min(min, min === 1 ? 'must not be empty' : `must have at least ${min} characters`)
    .max(max, `must have at most ${max} characters`)
    .refine(isStorable, { error: 'contains characters that cannot be stored', abort: true })
}

function isStorable(value: string): boolean {
  return !value.includes('\u0000') && value.isWellFormed()
}

/** Without `\p{Cc}`: validators of the OpenAPI document read patterns without the flag `u`. */
const NO_CONTROLS = /^[^\u0000-\u001f\u007f-\u009f]*$/ // oxlint-disable-line no-control-regex -- they are rejected
/** Not in the pattern: generators of clients print patterns as source, in which these end the line. */
const LINE_SEPARATOR = /[\u2028\u2029]/
const LINE_PROBLEM = 'must not contain line breaks or control characters'

/** A text that is written into emails, where a line break would begin another line. */
export function line(max: number) {
  return text(max)
    .regex(NO_CONTROLS, LINE_PROBLEM)
    .refine((value) => !LINE_SEPARATOR.test(value), LINE_PROBLEM)
}

/** An id in a path or body. Its form is not checked here: a malformed id is answered like the id of a missing row. */
export const id = z.string().meta({ format: 'uuid' })

const MAX_DEPTH = 32

/** A free-form JSON object that Postgres can store, with a limited depth. */
export const json = z.record(z.string(), z.unknown()).superRefine((value, issues) => {
  const problem = findProblem(value, MAX_DEPTH)
  if (problem) issues.addIssue({ code: 'custom', message: problem })
})

/** A free-form JSON value, with the same limits. */
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

export function pageLimit(defaultLimit: number) {
  return z.int(LIMIT).min(1, LIMIT).max(100, LIMIT).default(defaultLimit)
}

/** Room for the 200 characters of a contact's name, of at most 6 bytes each as escaped JSON, in base64. */
const CURSOR_MAX = 2000

/** The input of every list with pages. */
export const page = {
  limit: pageLimit(20).meta({ description: 'The largest number of items' }),
  offset: z
    .int(OFFSET)
    .min(0, OFFSET)
    .max(OFFSET_MAX, OFFSET)
    .default(0)
    .meta({ description: 'The number of items to skip', examples: [0] }),
  cursor: z.string().min(1).max(CURSOR_MAX).optional().meta({
    description: 'The `nextCursor` of a page: continues after its last item, also if items were added or removed',
  }),
}

/** The cursor of the next page. */
export const nextCursor = z
  .string()
  .optional()
  .meta({ description: 'Send it as `cursor` to read the next page. Absent on the last page' })

export type Page<T> = { items: T[]; total: number; totalCapped?: true | undefined; nextCursor?: string | undefined }

export const EMPTY_PAGE = { items: [], total: 0 }

export function toPage<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    total: z.int().meta({ description: 'The number of items on all pages' }),
    totalCapped: z.literal(true).optional().meta({
      description: 'Present if more than `total` items match: those of a filter or a search are counted up to 100,000',
    }),
    nextCursor,
  })
}

/**
 * A text in an answer that has one of these values. They are documented and not checked, since a later version may have
 * stored others, which this one returns during an upgrade.
 */
export function openEnum(values: readonly string[]) {
  return z.string().meta({ enum: [...values] })
}

export const createdBy = z
  .object({ type: openEnum(['user', 'key', 'system']), id: id.nullable(), name: z.string().nullable() })
  .meta({
    description:
      'Who created it: a member (`user`), an API key (`key`) or Parley itself (`system`). The name is null if it is not known any more',
    examples: [{ type: 'user', id: '0199a7a0-0000-7000-8000-000000000001', name: 'Dana Demo' }],
  })
export type CreatedBy = z.infer<typeof createdBy>

const DATE_TIME = { override: { type: 'string', format: 'date-time' } } as const

/** A time in an answer: ISO 8601, UTC, milliseconds. */
export const timestamp = z.date().meta(DATE_TIME)

/** A time in a request, kept as text: ISO 8601 with an offset. Clients of tRPC may send a date, too. */
export const timestampText = z
  .transform((time: string | Date) => (time instanceof Date ? toText(time) : time))
  .pipe(z.iso.datetime({ offset: true, error: 'must be an ISO-8601 time such as 2026-11-20T10:15:30Z' }))
  .meta(DATE_TIME)

/** Returns the text of a date; one that is no time has none, and is rejected as such. */
function toText(time: Date): string {
  return Number.isNaN(time.getTime()) ? '' : time.toISOString()
}

/** A time in a request. */
export const timestampInput = timestampText.transform((time) => new Date(time)).meta(DATE_TIME)

export const timezone = text(64).refine(isTimezone, 'must be an IANA time zone such as America/Sao_Paulo')

/** The id of the last item that a subscriber received. */
export const lastEventId = z.string().max(100).nullish()

export const empty = z.object({})

/** Types the input of a procedure whose fields are all optional, so that tRPC clients may leave out the whole input. */
export function omittable<Output, Input>(schema: z.ZodType<Output, Input>): z.ZodType<Output, Input | undefined> {
  return schema
}
