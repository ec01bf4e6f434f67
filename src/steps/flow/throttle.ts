import { z } from 'zod'
import { duration } from '../../engine/language/definition/duration.ts'
import { target, templateText } from '../../engine/language/definition/names.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { defineStep, type StepContext } from '../../engine/model/step.ts'

const KEY_LENGTH_MAX = 500

const Passage = z.looseObject({ isAllowed: z.boolean() })

/**
 * Lets at most `max` runs per key continue within a time, counted by a transaction outside of the decision. The others
 * continue with `else`, or end.
 */
export const throttle = defineStep({
  type: 'throttle',
  awaits: 'result',
  schema: z.strictObject({
    key: templateText.optional(),
    max: z.int('must be a whole number').min(1, 'must be at least 1').max(1_000_000),
    per: duration,
    else: target.optional(),
  }),
  output: () => ({ isAllowed: null, endsAt: null }),
  targets: (config) => (config.else === undefined ? [] : [{ to: config.else, path: 'else' }]),
  execute({ key, max, per }, context) {
    const input = { key: readKey(key, context), max, perMs: per }
    const workflowId = context.facts.workflow['id'] ?? null
    return { kind: 'external', request: { type: 'throttle', workflowId, ...input }, input }
  },
  resume(config, _context, wakeup) {
    if (wakeup.type !== 'external_result') return { kind: 'ignore' }
    const { result } = wakeup
    if (!result.ok) return { kind: 'fail', error: result.error }
    const { isAllowed } = Passage.parse(result.output)
    if (isAllowed) return { kind: 'next', output: result.output, branch: 'allowed' }
    if (config.else === undefined)
      return { kind: 'end', status: 'completed', output: result.output, reason: 'throttled' }
    return { kind: 'next', output: result.output, branch: 'else', to: config.else }
  },
})

/** By default, each contact is counted by itself. */
function readKey(key: string | undefined, context: StepContext): string {
  if (key === undefined) return String(context.facts.contact?.['id'] ?? '')
  const text = context.text(key)
  if (text.length <= KEY_LENGTH_MAX) return text
  throw new StepError('value_too_large', `The key is longer than ${KEY_LENGTH_MAX} characters`, { retryable: false })
}
