import { latestOccurrence, nextOccurrence } from '../../platform/cron.ts'
import { DAY } from '../../platform/time.ts'

export type DueSchedule = {
  cron: string | null
  at: Date | null
  timezone: string
  groupId: string | null
  nextAt: Date
  cursor: string | null
}

/** What is later than this is not done any more: a greeting of yesterday helps nobody. */
const LATENESS_MS_MAX = DAY

/**
 * Which moment begins now; undefined if it is too long ago. Of several that were missed it is the latest alone, except
 * that one under way is finished first.
 */
export function occurrenceAt({ cron, timezone, nextAt, cursor }: DueSchedule, now: Date): Date | undefined {
  const latest = cron === null || cursor !== null ? undefined : latestOccurrence(cron, timezone, now)
  const moment = latest && latest > nextAt ? latest : nextAt
  return now.getTime() - moment.getTime() < LATENESS_MS_MAX ? moment : undefined
}

export function occurrenceAfter({ cron, timezone }: DueSchedule, moment: Date): Date | null {
  return cron === null ? null : (nextOccurrence(cron, timezone, moment) ?? null)
}
