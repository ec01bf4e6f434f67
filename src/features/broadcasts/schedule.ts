import { z } from 'zod'
import type { Broadcast as BroadcastRow } from '../../models/broadcasts.ts'
import { fromWallTime, nextTimeOfDay, isTimezone, parseInstant } from '../../platform/calendar/zoned-time.ts'
import { HOUR } from '../../platform/time.ts'
import { timestampText } from '../../trpc/schemas.ts'

const timeOfDay = z
  .string()
  .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day such as 09:30')
  .meta({ examples: ['09:30'] })

const wallTime = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?$/)

/** Start and quiet hours of a broadcast. */
export const Schedule = z.strictObject({
  at: z
    .union([timestampText, wallTime], 'must be a time with an offset, or a local time such as 2026-03-29T09:30')
    .refine((at) => parseInstant(at, 'UTC') !== undefined, 'must be a time that exists')
    .nullable()
    .default(null)
    .meta({ description: 'Time with an offset, or local time in `timezone`. Null starts it at once' }),
  timezone: z
    .string()
    .max(64)
    .refine((zone) => zone === 'contact' || isTimezone(zone), 'must be "contact" or an IANA time zone')
    .default('UTC')
    .meta({ description: 'Time zone of `at` and `window`. `contact` is that of each contact', examples: ['contact'] }),
  window: z
    .strictObject({ from: timeOfDay, to: timeOfDay })
    .refine(({ from, to }) => from !== to, 'must have different times')
    .nullable()
    .default(null)
    .meta({ description: 'Messages are sent only between these times; those that are due outside wait for `from`' }),
})
export type Schedule = z.infer<typeof Schedule>

/** The clocks of the world are at most this far ahead of UTC. */
const EARLIEST_OFFSET_MS = 14 * HOUR

function readSchedule({ schedule }: Pick<BroadcastRow, 'schedule'>): Schedule | null {
  return schedule === null ? null : Schedule.parse(schedule)
}

/** Milliseconds of a wall time such as `2026-03-29T09:30`, as those of the same time in UTC. */
function parseWallTime(text: string): number {
  return Date.parse(`${text}Z`)
}

/**
 * The instant at which a broadcast starts. In the time zones of the contacts, that is when the first of them may be due.
 * A wall time that a clock change skips is the instant of the change, and one that it repeats is the first of the two.
 */
export function toStartTime({ at, timezone }: Schedule): Date | null {
  if (at === null) return null
  if (!isWallTime(at)) return new Date(at)
  if (timezone === 'contact') return new Date(parseWallTime(at) - EARLIEST_OFFSET_MS)
  return new Date(fromWallTime(parseWallTime(at), timezone))
}

function isWallTime(at: string): boolean {
  return !/(?:Z|[+-]\d\d:?\d\d)$/i.test(at)
}

/** The time from which a recipient in a time zone may be sent its message, without regard to quiet hours. */
export function toDueTime(broadcast: Pick<BroadcastRow, 'schedule'>, contactTimezone: string, now: Date): Date {
  const schedule = readSchedule(broadcast)
  if (!schedule || schedule.at === null || schedule.timezone !== 'contact' || !isWallTime(schedule.at)) return now
  return new Date(Math.max(now.getTime(), fromWallTime(parseWallTime(schedule.at), contactTimezone)))
}

/**
 * Returns the time at which quiet hours end for a recipient; undefined if it may be sent its message now. Of a beginning
 * or an end that a clock change repeats the first counts, as in `fromWallTime`.
 */
export function findQuietUntil(
  broadcast: Pick<BroadcastRow, 'schedule'>,
  contactTimezone: string | null,
  now: Date,
): Date | undefined {
  const schedule = readSchedule(broadcast)
  if (!schedule?.window) return undefined
  const { from, to } = schedule.window
  const timezone = schedule.timezone === 'contact' ? (contactTimezone ?? 'UTC') : schedule.timezone
  const opensMs = nextTimeOfDay(from, timezone, now)
  const isOpen = nextTimeOfDay(to, timezone, now) < opensMs
  return isOpen ? undefined : new Date(opensMs)
}
