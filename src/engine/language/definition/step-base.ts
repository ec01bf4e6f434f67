import { z } from 'zod'
import { Condition } from './condition.ts'
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

/** What every step has, whatever its type. */
export const StepBase = z.strictObject({
  id: stepId,
  type: z.string(),
  name: z.string().max(120).optional(),
  note: z.string().optional(),
  if: Condition.optional(),
  disabled: z.boolean().default(false),
  next: target.optional(),
  /** `fail`, `continue`, or the step to go on with. */
  onError: ident.default('fail'),
  retry: Retry.optional(),
  timeout: duration.refine((ms) => ms > 0, 'must be longer than 0s').optional(),
  onTimeout: target.optional(),
  saveAs: variablePath.optional(),
})
export type StepBase = z.output<typeof StepBase>

const BASE_FIELDS: ReadonlySet<string> = new Set(Object.keys(StepBase.shape))

/** The fields that every step has, and those of the step's type. */
export function splitStep(step: object): { base: Record<string, unknown>; own: Record<string, unknown> } {
  const fields = Object.entries(step)
  return {
    base: Object.fromEntries(fields.filter(([field]) => BASE_FIELDS.has(field))),
    own: Object.fromEntries(fields.filter(([field]) => !BASE_FIELDS.has(field))),
  }
}
