import { z } from 'zod'
import { normalizeText } from '../../engine/language/normalize-text.ts'
import { matchesPattern, pattern } from '../../engine/language/patterns.ts'
import type { MessageFacts } from '../../engine/model/run.ts'
import type { StepContext } from '../../engine/model/step.ts'
import { getField } from '../../platform/fields.ts'
import { toE164 } from '../../platform/phone.ts'
import { Choices, type Choice } from './message.ts'
import { isCalendarDay } from '../../platform/calendar/zoned-time.ts'

const YEAR_FIRST = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$/
const YEAR_LAST = /^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})$/

export const Expectation = z
  .strictObject({
    type: z.enum(['any', 'text', 'number', 'email', 'phone', 'url', 'date', 'choice']),
    options: Choices.optional(),
    pattern: pattern.optional(),
    min: z.number().optional(),
    max: z.number().optional(),
  })
  .refine(({ min, max }) => min === undefined || max === undefined || min <= max, {
    message: 'must not be less than min',
    path: ['max'],
  })
export type Expectation = z.output<typeof Expectation>

/** A valid reply. `choice` is the option that it names, if any. */
export type ParsedReply = { value: unknown; text: string; choice: Choice | null }

const email = z.email()

/** Fields of the output of a step that waits for a reply. */
export const REPLY_OUTPUT = { value: null, text: null, choice: null, messageId: null }

/** Reads the value of a reply from the recorded output of its step. */
export function toReplyValue(output: unknown): unknown {
  return getField(output, 'value') ?? null
}

/** Parses a reply; undefined if it is not of the expected kind. */
export function parseReply(
  message: MessageFacts,
  expect: Expectation,
  { choices, context }: { choices: readonly Choice[]; context: StepContext },
): ParsedReply | undefined {
  const text = (message.body ?? '').trim()
  const choice = findChoice(message, text, choices)
  if (expect.type === 'choice') return choice && { value: choice.id, text, choice }
  // On a channel without buttons, a number may name an option by its position.
  if (choice && (expect.type === 'any' || expect.type === 'text')) return { value: choice.title, text, choice }
  const value = readValue(text, expect, context)
  return value === undefined ? undefined : { value, text, choice: choice ?? null }
}

function readValue(text: string, { type, pattern, min, max }: Expectation, context: StepContext): unknown {
  if (pattern !== undefined && !matchesPattern(pattern, text)) return undefined
  switch (type) {
    case 'any':
      return text
    case 'text':
      return text !== '' && isWithin([...text].length, min, max) ? text : undefined
    case 'number': {
      const number = readNumber(text)
      return number !== undefined && isWithin(number, min, max) ? number : undefined
    }
    case 'email':
      return email.safeParse(text).data
    case 'phone':
      return toE164(text)
    case 'url':
      return readUrl(text)
    case 'date':
      return parseDate(text, context)
    case 'choice':
      return undefined
  }
}

function isWithin(size: number, min = -Infinity, max = Infinity): boolean {
  return size >= min && size <= max
}

/** Finds the option of a pressed button, or of a text with the option's title, id or position. */
function findChoice(message: MessageFacts, text: string, choices: readonly Choice[]): Choice | undefined {
  const pressed = getField(message['content'], 'buttonId')
  const normalized = normalizeText(text)
  return (
    choices.find(({ id }) => id === pressed) ??
    choices.find(({ title }) => normalizeText(title) === normalized) ??
    choices.find(({ id }) => id === normalized) ??
    (/^\d{1,2}[.)]?$/.test(normalized) ? choices[Number.parseInt(normalized, 10) - 1] : undefined)
  )
}

/** Reads 12.5 and 12,5, but not 1,000, which is ambiguous between locales. */
function readNumber(text: string): number | undefined {
  const compact = text.replaceAll(/\s/g, '')
  if (!/^[+-]?\d{1,15}([.,]\d{1,10})?$/.test(compact) || /^[+-]?[1-9]\d{0,2},\d{3}$/.test(compact)) return undefined
  return Number(compact.replace(',', '.'))
}

function readUrl(text: string): string | undefined {
  const url = /^[a-z][a-z0-9+.-]*:/i.test(text) ? text : `https://${text}`
  if (/\s/.test(url) || !URL.canParse(url)) return undefined
  const { protocol, hostname, href } = new URL(url)
  return (protocol === 'https:' || protocol === 'http:') && hostname.includes('.') ? href : undefined
}

/** Parses a written date to `2026-03-31`. The day comes first, except for contacts in the United States. */
function parseDate(text: string, { facts }: StepContext): string | undefined {
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
