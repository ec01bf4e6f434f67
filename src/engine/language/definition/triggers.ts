import { z } from 'zod'
import { cronError } from '../../../platform/cron.ts'
import { isTimezone, parseInstant } from '../../../platform/zoned-time.ts'
import { patternIssue } from '../patterns.ts'
import { Condition } from './condition.ts'
import { eventName, templateText } from './names.ts'

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
      const issue = patternIssue(value)
      if (issue) issues.addIssue({ ...issue, path: ['values', index] })
    }
  })
  .meta({
    if: { properties: { mode: { const: 'any' } } },
    else: { required: ['values'], properties: { values: { minItems: 1 } } },
  })
export type Match = z.output<typeof Match>

const condition = Condition.optional()

const MessageReceived = z.strictObject({
  type: z.literal('message_received'),
  channelId: z.string().toLowerCase().optional(),
  match: Match.default({ mode: 'any', values: [] }),
  first: z.boolean().default(false),
  if: condition,
  priority: z.int('must be a whole number').default(0),
})

const ContactUpdated = z.strictObject({
  type: z.literal('contact_updated'),
  /** Such as `email` and `fields.plan`; `fields` stands for all of those. Without it any change will do. */
  fields: z
    .array(z.string().trim().min(1, 'must not be empty').max(200))
    .min(1, 'must have at least 1 entry')
    .max(50)
    .optional(),
  if: condition,
})

function aboutTag<Type extends string>(type: Type) {
  const tag = z.string().trim().min(1, 'must not be empty').max(50)
  return z.strictObject({ type: z.literal(type), tag, if: condition })
}

function aboutGroup<Type extends string>(type: Type) {
  const groupId = z.uuid('must be the id of a group').toLowerCase()
  return z.strictObject({ type: z.literal(type), groupId, if: condition })
}

const cron = z.string().superRefine((text, issues) => {
  const refusal = cronError(text)
  if (!refusal) return
  const message = `is not a cron expression such as 0 9 * * mon-fri: ${refusal}`
  issues.addIssue({ code: 'custom', message, params: { code: 'invalid_cron' } })
})

const timezone = z.string().refine(isTimezone, {
  message: 'must be an IANA time zone such as America/Sao_Paulo',
  params: { code: 'invalid_timezone' },
})

const Schedule = z
  .strictObject({
    type: z.literal('schedule'),
    cron: cron.optional(),
    at: z
      .string()
      .refine((text) => parseInstant(text, 'UTC') !== undefined, 'must be a moment such as 2026-03-02T09:00:00Z')
      .optional(),
    /** Whose clocks `cron`, and an `at` without an offset, are read on: by default the workflow's, or the workspace's. */
    timezone: timezone.optional(),
    /** One run for each member; without it one run without a contact. */
    groupId: z.uuid('must be the id of a group').optional(),
  })
  .refine(({ cron, at }) => (cron === undefined) !== (at === undefined), 'must have either cron or at')
  .meta({ oneOf: [{ required: ['cron'] }, { required: ['at'] }] })

const Webhook = z.strictObject({
  type: z.literal('webhook'),
  contact: z.strictObject({ phone: templateText, createIfMissing: z.boolean().default(false) }).optional(),
  /** Calls for which it comes to the same start one run. */
  dedupeKey: templateText.optional(),
})

const CustomEvent = z.strictObject({ type: z.literal('event'), event: eventName, if: condition })

function simple<Type extends string>(type: Type) {
  return z.strictObject({ type: z.literal(type), if: condition })
}

/** What starts a run, by type. */
export const TRIGGERS = {
  message_received: MessageReceived,
  conversation_opened: simple('conversation_opened'),
  conversation_closed: simple('conversation_closed'),
  contact_created: simple('contact_created'),
  contact_updated: ContactUpdated,
  tag_added: aboutTag('tag_added'),
  tag_removed: aboutTag('tag_removed'),
  group_joined: aboutGroup('group_joined'),
  group_left: aboutGroup('group_left'),
  api: simple('api'),
  manual: simple('manual'),
  schedule: Schedule,
  webhook: Webhook,
  event: CustomEvent,
} as const

export type TriggerType = keyof typeof TRIGGERS
export type Trigger = { [Type in TriggerType]: z.output<(typeof TRIGGERS)[Type]> }[TriggerType] & {
  if?: Condition | undefined
}
export type TriggerByType<Type extends TriggerType> = Extract<Trigger, { type: Type }>

export function isTriggerType(type: unknown): type is TriggerType {
  return typeof type === 'string' && Object.hasOwn(TRIGGERS, type)
}
