import type { Broadcast as BroadcastRow } from '../../models/messaging/broadcast.ts'
import { fromWallTime, nextTimeOfDay, toWallTime } from '../../platform/calendar/zoned-time.ts'
import { DAY, HOUR, MINUTE } from '../../platform/time.ts'
import { Schedule } from './schema.ts'

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

/** Returns the time at which quiet hours end for a recipient; undefined if it may be sent its message now. */
export function findQuietUntil(
  broadcast: Pick<BroadcastRow, 'schedule'>,
  contactTimezone: string | null,
  now: Date,
): Date | undefined {
  const schedule = readSchedule(broadcast)
  if (!schedule?.window) return undefined
  const { from, to } = schedule.window
  const timezone = schedule.timezone === 'contact' ? (contactTimezone ?? 'UTC') : schedule.timezone
  const minutes = Math.floor((toWallTime(now.getTime(), timezone) % DAY) / MINUTE)
  const [start, end] = [toMinutes(from), toMinutes(to)]
  const isOpen = start < end ? minutes >= start && minutes < end : minutes >= start || minutes < end
  return isOpen ? undefined : new Date(nextTimeOfDay(from, timezone, now))
}

function toMinutes(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3))
}
