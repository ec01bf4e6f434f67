import { z } from 'zod'

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

const ESCAPE = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|.)/g

/**
 * Parses JSON without NUL characters, lone surrogates and values nested too deeply, which Postgres cannot store.
 * @throws SyntaxError
 */
export function parseProviderJson(body: Buffer): unknown {
  const json = body.toString('utf8').replaceAll(ESCAPE, (escape) => {
    if (escape === '\\u0000') return ''
    return escape.length === 6 && /^\\u[dD][89a-fA-F]/.test(escape) ? '\\ufffd' : escape
  })
  return removeDeepParts(JSON.parse(json))
}

/** Deeper than any message. Values with many more levels cannot be stored. */
const DEPTH_MAX = 32

/** Replaces values that are nested too deeply with null. Iterative, so that no input exhausts the stack. */
function removeDeepParts(root: unknown): unknown {
  const pending = [{ value: root, depth: 0 }]
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { value, depth } = next
    if (typeof value !== 'object' || value === null) continue
    for (const [key, child] of Object.entries(value)) {
      if (typeof child !== 'object' || child === null) continue
      if (depth + 1 < DEPTH_MAX) pending.push({ value: child, depth: depth + 1 })
      else Object.defineProperty(value, key, { value: null, enumerable: true })
    }
  }
  return root
}
