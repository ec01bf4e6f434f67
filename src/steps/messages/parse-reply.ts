import { z } from 'zod'
import { normalizeText } from '../../engine/language/normalize-text.ts'
import { matchesPattern, pattern } from '../../engine/language/patterns.ts'
import type { MessageFacts } from '../../engine/model/run.ts'
import type { StepContext } from '../../engine/model/step.ts'
import { getField } from '../../platform/get-field.ts'
import { toE164 } from '../../platform/phone.ts'
import { Choices, type Choice } from './message.ts'
import { parseDate } from './parse-date.ts'

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

/** What a reply was understood as. `choice` is the option it names, if there are any. */
export type ParsedReply = { value: unknown; text: string; choice: Choice | null }

const email = z.email()

/** What a step that took an answer kept of it, read from what it gave. */
export function toReplyValue(output: unknown): unknown {
  return getField(output, 'value') ?? null
}

/** Undefined if the reply is not what was expected. */
export function parseReply(
  message: MessageFacts,
  expect: Expectation,
  { choices, turn }: { choices: readonly Choice[]; turn: StepContext },
): ParsedReply | undefined {
  const text = (message.body ?? '').trim()
  const choice = findChoice(message, text, choices)
  if (expect.type === 'choice') return choice && { value: choice.id, text, choice }
  // A number may stand for the option it numbers where a channel has no buttons to show.
  if (choice && (expect.type === 'any' || expect.type === 'text')) return { value: choice.title, text, choice }
  const value = readValue(text, expect, turn)
  return value === undefined ? undefined : { value, text, choice: choice ?? null }
}

function readValue(text: string, { type, pattern, min, max }: Expectation, turn: StepContext): unknown {
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
      return parseDate(text, turn)
    case 'choice':
      return undefined
  }
}

function isWithin(size: number, min = -Infinity, max = Infinity): boolean {
  return size >= min && size <= max
}

/** The button that was pressed, or the option that is written: by its title, its id, or its number in the list. */
function findChoice(message: MessageFacts, text: string, choices: readonly Choice[]): Choice | undefined {
  const pressed = getField(message['content'], 'buttonId')
  const folded = normalizeText(text)
  return (
    choices.find(({ id }) => id === pressed) ??
    choices.find(({ title }) => normalizeText(title) === folded) ??
    choices.find(({ id }) => id === folded) ??
    (/^\d{1,2}[.)]?$/.test(folded) ? choices[Number.parseInt(folded, 10) - 1] : undefined)
  )
}

/** Takes 12.5 and 12,5. Not 1,000, which is a thousand to some and one to others. */
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
