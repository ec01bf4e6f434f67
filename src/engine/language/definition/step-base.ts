import { z } from 'zod'
import type { Condition } from '../conditions.ts'
import { duration } from './duration.ts'
import { ident, stepId, target, variablePath } from './names.ts'
import { HOUR, SECOND } from '../../../platform/time.ts'

export const Retry = z
  .strictObject({
    max: z.int('must be a whole number').min(0, 'must be 0 or more').max(20, 'must be at most 20').default(3),
    backoff: z.enum(['fixed', 'exponential']).default('exponential'),
    delay: duration.default(2 * SECOND),
    maxDelay: duration.default(HOUR),
  })
  .transform(({ max, backoff, delay, maxDelay }) => ({ max, backoff, delayMs: delay, maxDelayMs: maxDelay }))
export type Retry = z.output<typeof Retry>

/** Builds the schema of the fields that every step has, whatever its type. */
export function stepBase(condition: z.ZodType<Condition>) {
  return z.strictObject({
    id: stepId,
    type: z.string(),
    name: z.string().max(120).optional(),
    note: z.string().optional(),
    if: condition.optional(),
    disabled: z.boolean().default(false),
    next: target.optional(),
    /** `fail`, `continue`, or the id of the next step. */
    onError: ident.default('fail'),
    retry: Retry.optional(),
    timeout: duration.refine((ms) => ms > 0, 'must be longer than 0s').optional(),
    onTimeout: target.optional(),
    saveAs: variablePath.optional(),
  })
}
export type StepBaseSchema = ReturnType<typeof stepBase>
export type StepBase = z.output<StepBaseSchema>

/** Separates the fields that every step has from those of the step's type. */
export function splitStep(
  step: object,
  { shape }: StepBaseSchema,
): { base: Record<string, unknown>; own: Record<string, unknown> } {
  const fields = Object.entries(step)
  return {
    base: Object.fromEntries(fields.filter(([field]) => Object.hasOwn(shape, field))),
    own: Object.fromEntries(fields.filter(([field]) => !Object.hasOwn(shape, field))),
  }
}
