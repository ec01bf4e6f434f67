import { z } from 'zod'
import { templateText } from '../../engine/language/definition/names.ts'
import { defineStep } from '../../engine/model/step.ts'

/** Ends the run, as completed or as failed. */
export const stop = defineStep({
  type: 'stop',
  schema: z.strictObject({
    status: z.enum(['completed', 'failed']).default('completed'),
    reason: templateText.optional(),
  }),
  output: () => ({ reason: null }),
  fallthrough: () => 'never',
  execute({ status, reason }, context) {
    const text = reason === undefined ? null : context.text(reason)
    return { kind: 'end', status, output: { reason: text }, ...(text ? { reason: text } : {}) }
  },
})
