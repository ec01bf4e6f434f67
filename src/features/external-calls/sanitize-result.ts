import type { ExternalResult } from '../../engine/model/step.ts'

const DEPTH_MAX = 64

/** The result, with nothing in it that cannot be stored as JSON and read again: whoever gave it may be anybody. */
export function sanitizeResult(result: ExternalResult): ExternalResult {
  try {
    return clean(result, 0) as ExternalResult
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return { ok: false, error: { code: 'invalid_response', message: error.message, retryable: false } }
  }
}

/** @throws RangeError */
function clean(value: unknown, depth: number): unknown {
  if (depth > DEPTH_MAX) throw new RangeError(`The answer is nested more than ${DEPTH_MAX} levels deep`)
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\u0000', '')
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item: unknown) => clean(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [String(clean(name, depth)), clean(field, depth + 1)]),
  )
}
