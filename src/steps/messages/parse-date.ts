import type { StepContext } from '../../engine/model/step.ts'
import { isCalendarDay } from '../../platform/calendar/zoned-time.ts'

const YEAR_FIRST = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$/
const YEAR_LAST = /^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})$/

/** Parses a written date to `2026-03-31`. The day comes first, except for contacts in the United States. */
export function parseDate(text: string, { facts }: StepContext): string | undefined {
  const yearFirst = YEAR_FIRST.exec(text)
  if (yearFirst) return format(yearFirst[1], yearFirst[2], yearFirst[3])
  const [, first, second, year] = YEAR_LAST.exec(text) ?? []
  const isMonthFirst = facts.contact?.['country'] === 'US' || facts.contact?.['language'] === 'en-US'
  return isMonthFirst ? format(year, first, second) : format(year, second, first)
}

function format(year = '', month = '', day = ''): string | undefined {
  if (!isCalendarDay(Number(year), Number(month), Number(day))) return undefined
  return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
}
