import { z } from 'zod'
import { refusalOfPattern } from '../patterns.ts'
import { Condition } from './condition.ts'

const Match = z
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
      const refusal = refusalOfPattern(value)
      if (!refusal) continue
      const message = `is not an expression that can be used (RE2 syntax): ${refusal}`
      issues.addIssue({ code: 'custom', path: ['values', index], message, params: { code: 'invalid_pattern' } })
    }
  })
export type Match = z.output<typeof Match>

const condition = Condition.optional()

const MessageReceived = z.strictObject({
  type: z.literal('message_received'),
  channelId: z.string().optional(),
  match: Match.default({ mode: 'any', values: [] }),
  first: z.boolean().default(false),
  if: condition,
  priority: z.int('must be a whole number').default(0),
})

const TagAdded = z.strictObject({
  type: z.literal('tag_added'),
  tag: z.string().trim().min(1, 'must not be empty').max(50),
  if: condition,
})

function simple<Type extends string>(type: Type) {
  return z.strictObject({ type: z.literal(type), if: condition })
}

/** What starts a run, by type. */
export const TRIGGERS = {
  message_received: MessageReceived,
  conversation_opened: simple('conversation_opened'),
  contact_created: simple('contact_created'),
  tag_added: TagAdded,
  api: simple('api'),
  manual: simple('manual'),
} as const

export type TriggerType = keyof typeof TRIGGERS
export type Trigger = { [Type in TriggerType]: z.output<(typeof TRIGGERS)[Type]> }[TriggerType]

export function isTriggerType(type: unknown): type is TriggerType {
  return typeof type === 'string' && Object.hasOwn(TRIGGERS, type)
}
