import { z } from 'zod'
import { id, nextCursor, page, pageLimit, timestamp } from '../../trpc/schemas.ts'
import { RunStarter } from '../runs/schema.ts'

const OUTCOMES = [
  'no_match',
  'condition_not_met',
  'already_running',
  'automation_paused',
  'contact_blocked',
  'consent_keyword',
  'consumed_as_reply',
  'preempted_by_priority',
  'max_depth_exceeded',
  'cascade_rate_limited',
  'workflow_unusable',
] as const

const EvaluatedEvent = z.object({
  type: z.string().meta({ description: 'The type of the event, as in triggers', examples: ['message_received'] }),
  messageId: id.nullable(),
  name: z.string().nullable().meta({ description: 'The name of a custom event, or the tag' }),
})

const message = z.string().meta({
  description: 'The reason, and what to change',
  examples: ['The message "hi" contains none of: price, precio'],
})

export const Evaluation = z
  .object({
    at: timestamp,
    event: EvaluatedEvent,
    version: z.int().meta({ description: 'The version that was published at that time; 0 if it was not stored' }),
    outcome: z.enum(OUTCOMES),
    message,
    detail: z.string().nullable(),
  })
  .meta({ id: 'Evaluation' })
export type Evaluation = z.infer<typeof Evaluation>

export const TriggerEvaluations = z
  .object({
    contactId: id,
    workflowId: id,
    since: timestamp.meta({ description: 'Start of the period; older evaluations have been deleted' }),
    runsStarted: z.int().meta({ description: 'Number of runs of the workflow that the contact started since then' }),
    reasons: z
      .array(
        z.object({
          code: z.enum([
            'workflow_not_published',
            'workflow_paused',
            'workflow_archived',
            'no_trigger',
            'workflow_unusable',
            'automation_paused',
            'contact_blocked',
            'dead_lettered',
            'no_matching_event',
          ]),
          message,
        }),
      )
      .meta({ description: 'What currently prevents the workflow from starting' }),
    evaluations: z.array(Evaluation).meta({ description: 'Events that did not start the workflow, newest first' }),
    nextCursor,
  })
  .meta({ id: 'TriggerEvaluations' })
export type TriggerEvaluations = z.infer<typeof TriggerEvaluations>

const OFFSET = 'must be an integer between 0 and 100000'

export const ListTriggerEvaluations = z.strictObject({
  contactId: id,
  workflowId: id,
  limit: pageLimit(50).meta({ description: 'The largest number of evaluations' }),
  offset: z
    .int(OFFSET)
    .min(0, OFFSET)
    .max(100_000, OFFSET)
    .default(0)
    .meta({ description: 'The number of evaluations to skip' }),
  cursor: page.cursor,
})
export type ListTriggerEvaluations = z.infer<typeof ListTriggerEvaluations>

const named = z.object({ type: z.string(), id: id.nullable(), name: z.string().nullable() })
const failure = z.object({ code: z.string(), message: z.string() }).nullable()

const Link = z.discriminatedUnion('type', [
  z
    .object({
      type: z.literal('event'),
      at: timestamp,
      id: id.meta({ description: 'Deduplication ID: the same event never starts a workflow twice' }),
      eventType: z.string(),
      message: z.object({ id, body: z.string().nullable() }).nullable(),
      startedBy: RunStarter,
    })
    .meta({ description: 'The event that started the chain' }),
  z
    .object({ type: z.literal('trigger'), triggerType: z.string(), message: z.string() })
    .meta({ description: 'The trigger that the event matched' }),
  z.object({
    type: z.literal('run'),
    at: timestamp,
    id,
    workflowId: id,
    workflowName: z.string(),
    version: z.int(),
    status: z.string(),
    relation: z
      .enum(['started', 'reply_consumed', 'debounced', 'called', 'sent'])
      .meta({ description: '`debounced`: combined with earlier messages; `called`: started the next run' }),
    parentRunId: id.nullable(),
    replayOf: id.nullable(),
  }),
  z.object({
    type: z.literal('step'),
    at: timestamp,
    id,
    index: z.int(),
    stepId: z.string(),
    name: z.string().nullable(),
    stepType: z.string(),
    status: z.string(),
    branch: z.string().nullable(),
    after: z
      .object({ index: z.int(), stepId: z.string(), type: z.string(), branch: z.string().nullable() })
      .nullable()
      .meta({ description: 'The previous step, and the branch it took' }),
  }),
  z
    .object({ type: z.literal('sender'), sender: named })
    .meta({ description: 'The sender, unless a workflow sent the message' }),
  z.object({ type: z.literal('broadcast'), id, name: z.string(), status: z.string() }),
  z.object({
    type: z.literal('message'),
    at: timestamp,
    id,
    direction: z.enum(['inbound', 'outbound', 'internal']),
    body: z.string().nullable(),
    status: z.string(),
    error: failure,
  }),
  z.object({ type: z.literal('status'), at: timestamp, status: z.string(), error: failure }),
  z
    .object({
      type: z.literal('evaluation'),
      at: timestamp,
      workflowId: id,
      workflowName: z.string().nullable(),
      version: z.int(),
      outcome: z.enum(OUTCOMES),
      message,
    })
    .meta({ description: 'A workflow that the message did not start' }),
  z
    .object({
      type: z.literal('dead_letter'),
      at: timestamp,
      id,
      itemType: z.string().meta({ description: 'The type of the item', examples: ['message'] }),
      attempts: z.int(),
      error: z.object({ code: z.string(), message: z.string() }),
    })
    .meta({ description: 'A failure because of which the message, or an event that belongs to it, was not processed' }),
])
export type Link = z.infer<typeof Link>

export const Explanation = z
  .object({
    messageId: id,
    summary: z.string().meta({ examples: ['Sent by step "answer" of the workflow "Prices", version 3'] }),
    links: z.array(Link).meta({ description: 'Causes and effects in order' }),
  })
  .meta({ id: 'Explanation' })
export type Explanation = z.infer<typeof Explanation>

export const ExplainMessage = z.strictObject({ messageId: id })
export type ExplainMessage = z.infer<typeof ExplainMessage>
