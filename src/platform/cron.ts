import { Cron } from 'croner'
import { SECOND } from './time.ts'

const FIVE_FIELDS = /^[0-9a-z*,/#-]+(?: +[0-9a-z*,/#-]+){4}$/i

/**
 * Why a text is no cron expression that can be used; undefined if it is one. The five fields are minute, hour, day of
 * the month, month and day of the week; a day that fits either of the day fields counts, as everywhere.
 */
export function cronError(text: string): string | undefined {
  if (!FIVE_FIELDS.test(text)) return 'it has five fields: minute, hour, day of the month, month, day of the week'
  try {
    // Whether it ever comes must not depend on when it is asked.
    return nextOccurrence(text, 'UTC', new Date(0)) ? undefined : 'it never comes'
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error)
  }
}

/**
 * The first moment after `after`. A time of day that a clock change skips comes as the clocks jump; one that it repeats
 * comes once.
 */
export function nextOccurrence(cron: string, timezone: string, after: Date): Date | undefined {
  return new Cron(cron, { timezone, mode: '5-part' }).nextRun(after) ?? undefined
}

/** The last moment that is not after `until`. */
export function latestOccurrence(cron: string, timezone: string, until: Date): Date | undefined {
  // The library looks strictly before a whole second.
  const before = new Date(Math.floor(until.getTime() / SECOND) * SECOND + SECOND)
  return new Cron(cron, { timezone, mode: '5-part' }).previousRuns(1, before)[0]
}
