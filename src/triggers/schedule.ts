import { z } from 'zod'
import { defineTrigger } from '../engine/model/trigger.ts'
import { cronError } from '../platform/calendar/cron.ts'
import { isTimezone, parseInstant } from '../platform/calendar/zoned-time.ts'

const cron = z.string().superRefine((text, issues) => {
  const error = cronError(text)
  if (!error) return
  const message = `is not a cron expression such as 0 9 * * mon-fri: ${error}`
  issues.addIssue({ code: 'custom', message, params: { code: 'invalid_cron' } })
})

const timezone = z.string().refine(isTimezone, {
  message: 'must be an IANA time zone such as America/Sao_Paulo',
  params: { code: 'invalid_timezone' },
})

/** The database does not read the texts of later times. */
const LATEST_MS = Date.UTC(9999, 0, 1)

const schema = z
  .strictObject({
    type: z.literal('schedule'),
    cron: cron.optional(),
    at: z
      .string()
      .refine(
        (text) => (parseInstant(text, 'UTC') ?? Infinity) < LATEST_MS,
        'must be a moment such as 2026-03-02T09:00:00Z',
      )
      .optional(),
    /** Zone of `cron`, and of an `at` without an offset; defaults to the workflow's, then to the workspace's. */
    timezone: timezone.optional(),
    /** Starts one run for each member; without it one run without a contact. */
    groupId: z.uuid('must be the id of a group').optional(),
  })
  .refine(({ cron, at }) => (cron === undefined) !== (at === undefined), 'must have either cron or at')
  .meta({ oneOf: [{ required: ['cron'] }, { required: ['at'] }] })
export type ScheduleTrigger = z.output<typeof schema>

export type ScheduleStart = { type: 'schedule'; scheduledFor: string }

/** Belongs to one workflow and starts it directly: no event matches it. */
export const schedule = defineTrigger({
  type: 'schedule',
  schema,
  recorded: ['scheduledFor'] satisfies (keyof ScheduleStart)[],
  matches: () => false,
})
