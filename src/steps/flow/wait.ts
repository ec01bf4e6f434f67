import { z } from 'zod'
import { duration } from '../../engine/language/definition/duration.ts'
import { templateText } from '../../engine/language/definition/names.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { defineStep, type StepContext } from '../../engine/model/step.ts'
import { getField } from '../../platform/fields.ts'
import { addMs, DAY } from '../../platform/time.ts'
import { nextTimeOfDay, parseInstant } from '../../platform/calendar/zoned-time.ts'

const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as 09:30')

const moment = templateText.refine((text) => text.includes('{{') || parseInstant(text, 'UTC') !== undefined, {
  message: 'must be a date such as 2026-03-31T09:00, or a placeholder such as {{vars.when}}',
  params: { code: 'invalid_date' },
})

const WAIT_MAX = 365 * DAY

/** Waits for a duration, until a moment, or until the next occurrence of a time of day. A moment in the past ends it. */
export const wait = defineStep({
  type: 'wait',
  awaits: 'timer',
  schema: z
    .strictObject({ for: duration.optional(), until: moment.optional(), untilTime: timeOfDay.optional() })
    .refine(
      (fields) => Object.values(fields).filter((value) => value !== undefined).length === 1,
      'must have one of for, until and untilTime',
    )
    .meta({ oneOf: [{ required: ['for'] }, { required: ['until'] }, { required: ['untilTime'] }] }),
  output: () => ({}),
  // A fixed moment has passed when the step is executed again.
  waits: (config) => config.for !== 0 && (config.until === undefined || config.until.includes('{{')),
  execute(config, context) {
    const until = addMs(context.now, waitMs(config, context))
    const input = { until: until.toISOString() }
    if (until <= context.now) return { kind: 'next', input, output: null }
    return { kind: 'suspend', for: 'timer', until, input }
  },
})

function waitMs(
  config: { for?: number | undefined; until?: string | undefined; untilTime?: string | undefined },
  context: StepContext,
): number {
  if (config.for !== undefined) return config.for
  if (config.untilTime !== undefined)
    return nextTimeOfDay(config.untilTime, context.timezone, context.now) - context.now.getTime()
  return msUntil(config.until ?? '', context)
}

function msUntil(template: string, context: StepContext): number {
  const text = context.text(template)
  const at = parseInstant(text, context.timezone)
  if (at === undefined) {
    throw new StepError('invalid_date', `"${text.slice(0, 100)}" is not a date such as 2026-03-31T09:00`, FINAL)
  }
  const ms = at - context.now.getTime()
  if (ms > WAIT_MAX) throw new StepError('wait_too_long', 'The wait would be longer than 365 days', FINAL)
  return ms
}

const FINAL = { retryable: false }

/** Moves the end of the wait in the input of a recorded step; that of another step stays. */
export function moveWaitInput({ type, input }: { type: string; input: unknown }, ms: number): unknown {
  const until = type === wait.type ? getField(input, 'until') : undefined
  if (typeof until !== 'string' || Number.isNaN(Date.parse(until))) return input
  return { ...Object(input), until: addMs(new Date(until), ms).toISOString() }
}
