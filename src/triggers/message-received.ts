import { z } from 'zod'
import { Condition } from '../conditions/index.ts'
import { normalizeText } from '../engine/language/normalize-text.ts'
import { matchesPattern, patternIssue } from '../engine/language/patterns.ts'
import { spendWork } from '../engine/language/work-budget.ts'
import { defineTrigger } from '../engine/model/trigger.ts'
import type { EventByType } from './events.ts'

export const Match = z
  .strictObject({
    mode: z.enum(['any', 'exact', 'contains', 'starts_with', 'regex']),
    values: z.array(z.string().trim().min(1, 'must not be empty').max(1000)).max(200).default([]),
  })
  .superRefine(({ mode, values }, issues) => {
    if (mode !== 'any' && values.length === 0) {
      issues.addIssue({ code: 'custom', path: ['values'], message: `must have at least 1 entry for "${mode}"` })
    }
    if (mode !== 'regex') return
    for (const [index, value] of values.entries()) {
      const issue = patternIssue(value)
      if (issue) issues.addIssue({ ...issue, path: ['values', index] })
    }
  })
  .meta({
    if: { properties: { mode: { const: 'any' } } },
    else: { required: ['values'], properties: { values: { minItems: 1 } } },
  })
export type Match = z.output<typeof Match>

const schema = z.strictObject({
  type: z.literal('message_received'),
  channelId: z.string().toLowerCase().optional(),
  match: Match.default({ mode: 'any', values: [] }),
  first: z.boolean().default(false),
  if: Condition.optional(),
  priority: z.int('must be a whole number').default(0),
})

export const messageReceived = defineTrigger({
  type: 'message_received',
  schema,
  priority: ({ priority }) => priority,
  matches({ channelId, first, match }, event: EventByType<'message_received'>) {
    return (
      (channelId === undefined || channelId === event.channelId) &&
      (!first || event.isFirst === true) &&
      matchesText(match, event.message?.body ?? '')
    )
  },
})

/** Units of the work budget. */
const VALUE_WORK = 10
const CHARACTER_WORK = 0.1

/**
 * Ignores case, outer blanks and the width of blanks, except in a regular expression.
 * @throws StepError `budget_exceeded`
 */
export function matchesText({ mode, values }: Match, body: string): boolean {
  if (mode === 'any') return true
  if (mode === 'regex') return values.some((value) => matchesPattern(value, body))
  const characters = values.reduce((sum, value) => sum + value.length, body.length)
  spendWork(values.length * VALUE_WORK + characters * CHARACTER_WORK)
  const text = normalizeText(body)
  return values.map(normalizeText).some((value) => {
    if (mode === 'exact') return text === value
    return mode === 'contains' ? text.includes(value) : text.startsWith(value)
  })
}
