import { latestOccurrence, nextOccurrence } from '../../platform/calendar/cron.ts'
import { DAY } from '../../platform/time.ts'

export type DueSchedule = {
  cron: string | null
  at: Date | null
  timezone: string
  groupId: string | null
  nextAt: Date
  cursor: string | null
}

/** Occurrences that are later than this are skipped, since their messages would be outdated. */
const LATENESS_MS_MAX = DAY

/**
 * Returns the occurrence to start now; undefined if it is too late. Of several missed occurrences only the latest is
 * started, except that one already in progress is completed first.
 */
export function occurrenceAt({ cron, timezone, nextAt, cursor }: DueSchedule, now: Date): Date | undefined {
  const latest = cron === null || cursor !== null ? undefined : latestOccurrence(cron, timezone, now)
  const time = latest && latest > nextAt ? latest : nextAt
  return now.getTime() - time.getTime() < LATENESS_MS_MAX ? time : undefined
}

export function occurrenceAfter({ cron, timezone }: DueSchedule, time: Date): Date | null {
  return cron === null ? null : (nextOccurrence(cron, timezone, time) ?? null)
}
