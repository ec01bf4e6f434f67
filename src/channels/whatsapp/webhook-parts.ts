import { z } from 'zod'

/** What is odd counts as not there: the provider adds fields and kinds at will. */
export const text = z.string().max(512).optional().catch(undefined)

export const list = z.array(z.unknown()).catch([])

/** Unix seconds, mostly as text. */
export const parseTimestamp = z
  .union([z.string().regex(/^\d{1,11}$/), z.int().min(0).max(99_999_999_999)])
  .transform((seconds) => new Date(Number(seconds) * 1000))

/** Those that have the form; the others are left out. */
export function readableText<Schema extends z.ZodType>(schema: Schema, values: unknown[]): z.output<Schema>[] {
  return values.flatMap((value) => {
    const read = schema.safeParse(value)
    return read.success ? [read.data] : []
  })
}
