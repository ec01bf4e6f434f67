import { z } from 'zod'
import { duration } from '../../../engine/definition/duration.ts'
import { templateText } from '../../../engine/definition/names.ts'
import { StepError } from '../../../engine/step-error.ts'
import { defineStep, type Turn } from '../../../engine/step.ts'
import { addMs, DAY } from '../../../platform/time.ts'
import { parseInstant } from '../../../platform/zoned-time.ts'

const WAIT_MAX = 365 * DAY

/** Waits for a time, or until one; a moment that has passed is not waited for. */
export const wait = defineStep({
  type: 'wait',
  schema: z
    .strictObject({ for: duration.optional(), until: templateText.optional() })
    .refine((given) => (given.for === undefined) !== (given.until === undefined), 'must have either for or until'),
  waits: (config) => config.until !== undefined || config.for !== 0,
  execute(config, turn) {
    const until = addMs(turn.now, config.for ?? msUntil(config.until ?? '', turn))
    const input = { until: until.toISOString() }
    if (until <= turn.now) return { kind: 'next', input, output: null }
    return { kind: 'wait', for: 'timer', until, input }
  },
})

function msUntil(template: string, turn: Turn): number {
  const text = turn.text(template)
  const at = parseInstant(text, turn.timezone)
  if (at === undefined) {
    throw new StepError('invalid_date', `"${text.slice(0, 100)}" is not a date such as 2026-03-31T09:00`, FINAL)
  }
  const ms = at - turn.now.getTime()
  if (ms > WAIT_MAX) throw new StepError('wait_too_long', 'The wait would be longer than 365 days', FINAL)
  return ms
}

const FINAL = { retryable: false }
