import { Cron } from 'croner'
import { SECOND } from './time.ts'

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
 * Returns the first time after `after`. A time of day that a clock change skips occurs at the change; one that it
 * repeats occurs once.
 */
export function nextOccurrence(cron: string, timezone: string, after: Date): Date | undefined {
  return new Cron(cron, { timezone, mode: '5-part' }).nextRun(after) ?? undefined
}

/** Returns the last time that is not after `until`. */
export function latestOccurrence(cron: string, timezone: string, until: Date): Date | undefined {
  // The library searches strictly before a whole second.
  const before = new Date(Math.floor(until.getTime() / SECOND) * SECOND + SECOND)
  return new Cron(cron, { timezone, mode: '5-part' }).previousRuns(1, before)[0]
}
