import { getField } from '../../platform/fields.ts'
import type { JsonObject } from '../model/run.ts'
import type { ExternalResult } from '../model/step.ts'

/**
 * Finds the result that replaces an external call of a step: by step id an output, or `{ error: { code, message } }`,
 * or `{ iterations: [one for each execution] }`. Undefined if there is none.
 */
export function findOverride(overrides: JsonObject, stepId: string, iteration: number): ExternalResult | undefined {
  return Object.hasOwn(overrides, stepId) ? toResult(selectIteration(overrides[stepId], iteration)) : undefined
}

/** Reads an object with nothing but `iterations` as one output per execution; the last one repeats. */
function selectIteration(override: unknown, iteration: number): unknown {
  const iterations = getOnlyField(override, 'iterations')
  return Array.isArray(iterations) ? (iterations[iteration] ?? iterations.at(-1) ?? null) : override
}

/** Reads an object with nothing but `error` as a failure. */
function toResult(override: unknown): ExternalResult {
  const error = getOnlyField(override, 'error')
  if (typeof error !== 'object' || error === null) return { ok: true, output: override ?? null }
  const [code, message] = [getField(error, 'code'), getField(error, 'message')]
  return {
    ok: false,
    error: {
      code: typeof code === 'string' ? code : 'failed',
      message: typeof message === 'string' ? message : 'The step output override is an error',
      retryable: false,
    },
  }
}

function getOnlyField(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== 1) return undefined
  return Reflect.get(value, name)
}
