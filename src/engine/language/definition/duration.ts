import { z } from 'zod'
import { DAY, HOUR, MINUTE, SECOND } from '../../../platform/time.ts'

const SHORT = /^(\d{1,6})([smhdw])$/
const ISO = /^P(?!$)(?:(\d{1,6})W|(?:(\d{1,6})D)?(?:T(?=\d)(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?)?)$/
const UNITS = new Map([
  ['s', SECOND],
  ['m', MINUTE],
  ['h', HOUR],
  ['d', DAY],
  ['w', 7 * DAY],
])
const DURATION_MAX = 365 * DAY
const RULE = 'must be a duration such as 30s, 10m, 24h, 7d or PT10M'

/** Parses `30s`, `10m`, `24h`, `7d`, `2w`, or ISO 8601 without months and years, to milliseconds. */
export function parseDuration(text: string): number | undefined {
  const short = SHORT.exec(text)
  if (short) return Number(short[1]) * (UNITS.get(short[2] ?? '') ?? 0)
  const iso = ISO.exec(text)
  if (!iso) return undefined
  const [weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = iso.slice(1).map((digits) => Number(digits ?? 0))
  return (weeks * 7 + days) * DAY + hours * HOUR + minutes * MINUTE + seconds * SECOND
}

/** Schema of a duration: a text whose output is milliseconds. */
export const duration = z
  .string({ error: ({ input }) => (input === undefined ? undefined : RULE) })
  .transform((text, issues) => {
    const ms = parseDuration(text)
    if (ms !== undefined && ms <= DURATION_MAX) return ms
    const message = ms === undefined ? RULE : 'must be at most 365 days'
    issues.addIssue({ code: 'custom', message, params: { code: 'invalid_duration' } })
    return z.NEVER
  })
  .meta({
    description: 'At most 365 days, in one unit or as ISO 8601 without months and years',
    examples: ['30s', '10m', '24h', '7d', 'PT10M'],
    anyOf: [{ pattern: SHORT.source }, { pattern: ISO.source }],
  })
