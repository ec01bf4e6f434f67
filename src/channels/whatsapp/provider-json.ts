import { z } from 'zod'
import { assertBoundedText, type TextCounts } from '../../platform/bounded-json.ts'

/** Optional text. Malformed values count as missing, since the provider adds fields and kinds at any time. */
export const text = z.string().max(512).optional().catch(undefined)

export const list = z.array(z.unknown()).catch([])

/** Unix time in seconds, usually as text. */
export const timestamp = z
  .union([z.string().regex(/^\d{1,11}$/), z.int().min(0).max(99_999_999_999)])
  .transform((seconds) => new Date(Number(seconds) * 1000))

/** Returns the values that match the schema, parsed. Others are left out. */
export function parseValid<Schema extends z.ZodType>(schema: Schema, values: unknown[]): z.output<Schema>[] {
  return values.flatMap((value) => {
    const result = schema.safeParse(value)
    return result.success ? [result.data] : []
  })
}

/**
 * Parses JSON without NUL characters, lone surrogates and values nested too deeply, which Postgres cannot store. Texts
 * with many values are refused before they are parsed; those of one call share their `counts`.
 * @throws SyntaxError; InvalidError `input_too_complex`
 */
export function parseProviderJson(body: Buffer, counts?: TextCounts): unknown {
  assertBoundedText(body, counts)
  return makeStorable(JSON.parse(body.toString('utf8')))
}

/** Deeper than any message. Values with many more levels cannot be stored. */
const DEPTH_MAX = 32

/** Replaces what cannot be stored. Iterative, so that no input exhausts the stack. */
function makeStorable(root: unknown): unknown {
  const pending: { value: object; depth: number }[] = []
  const toStored = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return toStorableText(value)
    if (typeof value !== 'object' || value === null) return value
    if (depth === DEPTH_MAX) return null
    pending.push({ value, depth })
    return value
  }
  const stored = toStored(root, 0)
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { value, depth } = next
    if (Array.isArray(value)) {
      for (const [index, child] of value.entries()) value[index] = toStored(child, depth + 1)
      continue
    }
    for (const [key, child] of Object.entries(value)) {
      const [storedKey, storedChild] = [toStorableText(key), toStored(child, depth + 1)]
      if (storedKey === key && storedChild === child) continue
      if (storedKey !== key) Reflect.deleteProperty(value, key)
      const described = { value: storedChild, enumerable: true, configurable: true, writable: true }
      Object.defineProperty(value, storedKey, described)
    }
  }
  return stored
}

function toStorableText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed()
}
