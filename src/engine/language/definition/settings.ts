import { z } from 'zod'
import { DAY, MINUTE } from '../../../platform/time.ts'
import { isTimezone } from '../../../platform/calendar/zoned-time.ts'
import { duration } from './duration.ts'

const RUN_DURATION_DEFAULT = 30 * DAY

const timezone = z.string().refine((zone) => zone === 'contact' || isTimezone(zone), {
  message: 'must be an IANA time zone such as America/Sao_Paulo, or contact',
  params: { code: 'invalid_timezone' },
})

/** Settings of all runs of a workflow. */
export const Settings = z
  .strictObject({
    timezone: timezone.optional(),
    reentry: z.enum(['ignore', 'restart', 'queue', 'parallel']).default('ignore'),
    debounce: duration.refine((ms) => ms <= MINUTE, 'must be at most 60s').default(0),
    maxDuration: duration.refine((ms) => ms > 0, 'must be longer than 0s').default(RUN_DURATION_DEFAULT),
    pauseOnHumanReply: z.boolean().default(true),
  })
  .transform(({ timezone, reentry, debounce, maxDuration, pauseOnHumanReply }) => ({
    timezone: timezone ?? null,
    reentry,
    debounceMs: debounce,
    maxDurationMs: maxDuration,
    pauseOnHumanReply,
  }))
export type Settings = z.output<typeof Settings>
