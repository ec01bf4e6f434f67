import { Cron } from 'croner'
import { HOUR, SECOND } from '../time.ts'
import { fromWallTime, toWallTime } from './zoned-time.ts'

const FIVE_FIELDS = /^[0-9a-z*,/#-]+(?: +[0-9a-z*,/#-]+){4}$/i

/**
 * Returns the reason why a text is no usable cron expression; undefined if it is one. The five fields are minute, hour,
 * day of the month, month and day of the week; as usual, a day that matches either day field counts.
 */
export function cronError(text: string): string | undefined {
  if (!FIVE_FIELDS.test(text)) return 'it must have five fields: minute, hour, day of the month, month, day of the week'
  try {
    // The result must not depend on the time of the check.
    return nextOccurrence(text, 'UTC', new Date(0)) ? undefined : 'it never occurs'
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error)
  }
}

/**
 * The first occurrence after `after`. An expression for every hour follows elapsed time through a clock change. Any other
 * follows the wall clock: a time that the change repeats occurs once, and times that it skips occur together at the change.
 */
export function nextOccurrence(cron: string, timezone: string, after: Date): Date | undefined {
  if (isHourly(cron)) return new Cron(cron, { timezone, mode: '5-part' }).nextRun(after) ?? undefined
  const schedule = wallClockSchedule(cron)
  let wall = new Date(toWallTime(after.getTime(), timezone) - OVERLAP_MS)
  for (;;) {
    const next = schedule.nextRun(wall)
    if (!next) return undefined
    const instant = fromWallTime(next.getTime(), timezone)
    if (instant > after.getTime()) return new Date(instant)
    wall = next
  }
}

/** The last occurrence that is not after `until`. */
export function latestOccurrence(cron: string, timezone: string, until: Date): Date | undefined {
  // The library looks strictly before a whole second.
  const end = Math.floor(until.getTime() / SECOND) * SECOND + SECOND
  if (isHourly(cron)) return new Cron(cron, { timezone, mode: '5-part' }).previousRuns(1, new Date(end))[0]
  const schedule = wallClockSchedule(cron)
  let wall = new Date(toWallTime(end, timezone) + OVERLAP_MS)
  for (;;) {
    const [previous] = schedule.previousRuns(1, wall)
    if (!previous) return undefined
    const instant = fromWallTime(previous.getTime(), timezone)
    if (instant < end) return new Date(instant)
    wall = previous
  }
}

/** More than a clock change moves the clocks. */
const OVERLAP_MS = 3 * HOUR

function isHourly(cron: string): boolean {
  return /^\S+ +\* /.test(cron)
}

/** Wall times are handled as UTC, whose clocks never change. */
function wallClockSchedule(cron: string): Cron {
  return new Cron(cron, { timezone: 'UTC', mode: '5-part' })
}
