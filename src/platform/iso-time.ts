const PAIRS = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'))

/** Formats a time as `toISOString` does, faster. Lists contain many times. */
export function toIsoTime(time: Date): string {
  const year = time.getUTCFullYear()
  if (!(year >= 1000 && year <= 9999)) return time.toISOString()
  const date = `${year}-${PAIRS[time.getUTCMonth() + 1]}-${PAIRS[time.getUTCDate()]}`
  const milliseconds = String(time.getUTCMilliseconds()).padStart(3, '0')
  return `${date}T${PAIRS[time.getUTCHours()]}:${PAIRS[time.getUTCMinutes()]}:${PAIRS[time.getUTCSeconds()]}.${milliseconds}Z`
}

const FORM = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?\+00$/

/** Parses a time of Postgres in UTC, such as `2026-11-22 18:13:35.123+00`; undefined for all other texts. */
export function parseUtcTime(text: string): Date | undefined {
  if (!FORM.test(text)) return undefined
  const number = (from: number, to: number) => {
    let value = 0
    for (let at = from; at < to; at += 1) value = value * 10 + text.charCodeAt(at) - ZERO
    return value
  }
  // The fraction ends before the offset; the database has microseconds, and times milliseconds.
  const fractionEnd = Math.min(text.length - OFFSET_LENGTH, FRACTION_START + 3)
  const digits = fractionEnd - FRACTION_START
  const milliseconds = digits > 0 ? number(FRACTION_START, fractionEnd) * 10 ** (3 - digits) : 0
  const [year, month, day] = [number(0, 4), number(5, 7), number(8, 10)]
  // `Date.UTC` takes the years before 100 for those of the last century.
  if (year < 100) return undefined
  return new Date(Date.UTC(year, month - 1, day, number(11, 13), number(14, 16), number(17, 19), milliseconds))
}

const ZERO = 48
const FRACTION_START = 20
const OFFSET_LENGTH = 3
