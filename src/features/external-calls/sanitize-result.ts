import type { StepFailure } from '../../engine/model/step.ts'

const DEPTH_MAX = 64

type Result<Output> = { ok: true; output: Output } | { ok: false; error: StepFailure }

/** Removes from an untrusted result whatever Postgres cannot store as JSON. */
export function sanitizeResult<Output = unknown>(result: Result<Output>): Result<Output> {
  try {
    // Only the characters of texts change, so the type stays the same.
    return clean(result, 0) as Result<Output>
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return { ok: false, error: { code: 'invalid_response', message: error.message, retryable: false } }
  }
}

/** @throws RangeError */
function clean(value: unknown, depth: number): unknown {
  if (depth > DEPTH_MAX) throw new RangeError(`The response is nested more than ${DEPTH_MAX} levels deep`)
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\u0000', '')
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item: unknown) => clean(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [String(clean(name, depth)), clean(field, depth + 1)]),
  )
}
