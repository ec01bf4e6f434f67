import { z } from 'zod'
import { InvalidError } from '../../platform/errors.ts'
import { parseJson } from '../../platform/parse-json.ts'

const Fields = z.tuple([z.string(), z.string(), z.uuid()])

/** Time of rows without one: it orders them last among the newest first. */
export const NO_TIME = '-infinity'

const VALUES = {
  text: z.string().refine((value) => !value.includes('\u0000')),
  // Postgres has no year 0.
  time: z.union([z.iso.datetime().refine((value) => !value.startsWith('0000')), z.literal(NO_TIME)]),
  id: z.uuid(),
  number: z.string().regex(/^\d{1,9}$/),
}

export type ValueKind = keyof typeof VALUES

/** Position of an item in a list: its value in the order of the list, and its ID. */
export type Position = { value: string; id: string }

/** Converts a position in a list with the order `sort` to the opaque text that a client sends back. */
export function toCursor(sort: string, { value, id }: Position): string {
  return Buffer.from(JSON.stringify([sort, value, id])).toString('base64url')
}

/** Returns the cursor after a row of a list of the newest first. */
export function cursorAfter({ createdAt, id }: { createdAt: Date; id: string }): string {
  return toCursor('-createdAt', { value: createdAt.toISOString(), id })
}

/**
 * Reads the position from a cursor of a list with the order `sort`, whose values are of the type `kind`.
 * @throws InvalidError
 */
export function parseCursor(cursor: string, sort: string, kind: ValueKind): Position {
  const fields = Fields.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString())).data
  if (!fields) throw invalidCursor('must be the nextCursor of an earlier page')
  const [cursorSort, value, id] = fields
  if (cursorSort !== sort) throw invalidCursor('belongs to a list with another sort: send the sort of its page')
  if (!VALUES[kind].safeParse(value).success) throw invalidCursor('must be the nextCursor of an earlier page')
  return { value, id }
}

function invalidCursor(message: string): InvalidError {
  return new InvalidError(`cursor: ${message}`, [{ path: 'cursor', message }], 'invalid_pagination')
}
