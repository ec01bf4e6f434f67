import { LRUCache } from 'lru-cache'
import { DAY, HOUR, MINUTE, SECOND } from '../time.ts'

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,3})\d*)?)?(Z|[+-]\d\d:?\d\d)?)?$/i

const formatters = new LRUCache<string, Intl.DateTimeFormat>({ max: 600, memoMethod: createFormatter })

export function isTimezone(zone: string): boolean {
  try {
    return Boolean(formatters.memo(zone))
  } catch {
    return false
  }
}

/**
 * Parses an ISO 8601 date or time to milliseconds. Without an offset it is local time in `timezone`, never in the zone
 * of this machine, so a text means the same time on every node. Clock changes count as in `fromWallTime`.
 */
export function parseInstant(text: string, timezone: string): number | undefined {
  const [, year, month, day, hours, minutes, seconds, fraction, offset] = ISO.exec(text.trim()) ?? []
  if (!year || !month || !day) return undefined
  if (!isCalendarDay(Number(year), Number(month), Number(day))) return undefined
  const date = Date.UTC(Number(year), Number(month) - 1, Number(day))
  const time = Number(hours ?? 0) * HOUR + Number(minutes ?? 0) * MINUTE + Number(seconds ?? 0) * SECOND
  const local = date + time + Number((fraction ?? '').padEnd(3, '0'))
  return offset ? local - parseOffset(offset) : fromWallTime(local, timezone)
}

/**
 * Returns the first time after `after`, in milliseconds, at which it is `time` (`09:30`) in the zone. A time that a clock
 * change skips or repeats counts once, as in `fromWallTime`.
 */
export function nextTimeOfDay(time: string, timezone: string, after: Date): number {
  const ms = after.getTime()
  const local = new Date(ms + offsetAt(ms, timezone))
  for (let day = 0; ; day += 1) {
    const date = new Date(Date.UTC(local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate() + day))
    const at = parseInstant(`${date.toISOString().slice(0, 10)}T${time}`, timezone)
    if (at !== undefined && at > ms) return at
  }
}

/** The time that the clocks of the zone show at an instant, as milliseconds of the same time in UTC. */
export function toWallTime(instant: number, timezone: string): number {
  return instant + offsetAt(instant, timezone)
}

/**
 * The first instant at which the clocks of the zone show a wall time (in milliseconds of the same time in UTC), or the
 * instant of the clock change that skips it.
 */
export function fromWallTime(wall: number, timezone: string): number {
  const before = offsetAt(wall - DAY, timezone)
  const after = offsetAt(wall + DAY, timezone)
  if (before === after) return wall - before
  const instants = [wall - Math.max(before, after), wall - Math.min(before, after)] as const
  const found = instants.find((instant) => toWallTime(instant, timezone) === wall)
  return found ?? findClockChange(...instants, timezone)
}

/** The first whole second at which the offset is no longer that of `from`. */
function findClockChange(from: number, to: number, timezone: string): number {
  const offset = offsetAt(from, timezone)
  let [low, high] = [Math.floor(from / SECOND), Math.floor(to / SECOND)]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(middle * SECOND, timezone) === offset) low = middle
    else high = middle
  }
  return high * SECOND
}

export function isCalendarDay(year: number, month: number, day: number): boolean {
  // Date.UTC reads years below 100 as years of the twentieth century.
  if (year < 100 || month < 1 || month > 12 || day < 1) return false
  return day <= (Date.UTC(year, month, 1) - Date.UTC(year, month - 1, 1)) / DAY
}

function parseOffset(offset: string): number {
  if (offset.toUpperCase() === 'Z') return 0
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(-2))
  return (offset.startsWith('-') ? -minutes : minutes) * MINUTE
}

function offsetAt(ms: number, timezone: string): number {
  const parts = formatters.memo(timezone).formatToParts(ms)
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find((entry) => entry.type === type)?.value)
  const day = Date.UTC(part('year'), part('month') - 1, part('day'))
  const local = day + part('hour') * HOUR + part('minute') * MINUTE + part('second') * SECOND
  return local - Math.floor(ms / SECOND) * SECOND
}

/** @throws RangeError for a zone that does not exist */
function createFormatter(timezone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
}
