import { z } from 'zod'
import { duration } from '../../engine/language/definition/duration.ts'
import { HOUR } from '../../platform/time.ts'
import { json, jsonValue, id, timestamp, text, timestampText } from '../../trpc/schemas.ts'
import { Run, RunStatus, RunStep } from '../runs/schema.ts'
import { draft } from '../workflows/schema.ts'

const ENTRIES_MAX = 200
/** Time within which a message counts as a reply to a broadcast. */
const REPLY_MS = 72 * HOUR
const YEARS = /^20\d\d-/

const wait = duration.meta({ override: { type: 'string' }, description: 'Such as 30s, 10m or 24h', examples: ['10m'] })
const after = wait.optional().meta({ description: 'Delay after the previous entry; none if absent' })
const eventName = text(100)

export const Dialogue = z
  .array(
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('message'), body: text(4096, 0), content: json.optional(), after }),
      z.strictObject({ type: z.literal('event'), event: eventName, data: jsonValue.optional(), after }),
      z.strictObject({ type: z.literal('advance'), by: wait }),
    ]),
  )
  .max(ENTRIES_MAX, `must have at most ${ENTRIES_MAX} entries`)
  .meta({
    id: 'Dialogue',
    description: 'Messages of the customer and events, in order',
    examples: [[{ type: 'message', body: 'Hi' }]],
  })
export type Dialogue = z.output<typeof Dialogue>

/** Types of triggers that start one workflow by name; the others are events, which start any workflow with a match. */
export const CALL_TRIGGER_TYPES = ['api', 'manual', 'webhook', 'schedule', 'workflow'] as const

export const StartedBy = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.enum(CALL_TRIGGER_TYPES), data: json.optional() }),
    z.strictObject({ type: z.enum(['conversation_opened', 'conversation_closed', 'contact_created']) }),
    z.strictObject({ type: z.literal('contact_updated'), fields: z.array(text(200)).max(100).default([]) }),
    z.strictObject({ type: z.enum(['tag_added', 'tag_removed']), tag: text(50) }),
    z.strictObject({ type: z.enum(['group_joined', 'group_left']), groupId: id }),
    z
      .strictObject({
        type: z.literal('broadcast_replied'),
        broadcastId: id.optional().meta({ description: 'The broadcast that the trigger names, if absent' }),
        afterMs: z
          .int()
          .min(0)
          .max(REPLY_MS)
          .default(0)
          .meta({ description: 'Milliseconds from the message of the broadcast to the reply' }),
      })
      .meta({ description: 'The first message of the dialogue is the reply' }),
    z.strictObject({ type: z.literal('event'), event: eventName, data: jsonValue.optional() }),
  ])
  .meta({ id: 'SimulatedTrigger' })
export type StartedBy = z.output<typeof StartedBy>

export const ContactFacts = z
  .strictObject({
    name: text(200),
    phone: text(40).nullable(),
    email: text(254).nullable(),
    language: text(20).nullable(),
    country: text(2).nullable(),
    timezone: text(64).nullable(),
    tags: z.array(text(50)).max(50),
    fields: json,
    blocked: z.boolean(),
  })
  .partial()
  .meta({ id: 'SimulatedContact' })
export type ContactFacts = z.output<typeof ContactFacts>

/** Start of the virtual clock: in this century, so that every time computed from it can be stored. */
export const StartsAt = timestampText.refine((time) => YEARS.test(time), 'must be in a year from 2000 to 2099')

export const StepOutputs = json.meta({
  description:
    'By step ID, the result of an external call: an output, or {"error": {"code", "message"}}, or {"iterations": [one per iteration]}',
})

export const SimulateWorkflow = z
  .strictObject({
    workflowId: id,
    definition: draft.optional().meta({ description: 'A definition to simulate instead of the stored draft' }),
    version: z.int().min(1).optional().meta({ description: 'A published version to simulate instead of the draft' }),
    dialogue: Dialogue.optional(),
    conversationId: id
      .optional()
      .meta({ description: 'A conversation whose inbound messages are used instead of a dialogue' }),
    contactId: id.optional().meta({
      description:
        'The contact whose current facts the runs read; a sample contact if absent, of the country of the workspace, else of its time zone or, if that is UTC, of its WhatsApp number',
    }),
    contact: ContactFacts.nullable().optional().meta({
      description: 'Values that override the facts of the contact; null for a run without contact and conversation',
    }),
    trigger: StartedBy.optional().meta({ description: 'Starts the workflow, unless a message of the dialogue does' }),
    input: json.optional(),
    stepOutputs: StepOutputs.optional(),
    at: StartsAt.optional().meta({ description: 'The initial time of the virtual clock; now if absent' }),
  })
  .refine(({ definition, version }) => definition === undefined || version === undefined, {
    message: 'cannot be combined with definition',
    path: ['version'],
  })
  .refine(({ dialogue, conversationId }) => dialogue === undefined || conversationId === undefined, {
    message: 'cannot be combined with conversationId',
    path: ['dialogue'],
  })
export type SimulateWorkflow = z.output<typeof SimulateWorkflow>

/** Fields of a step that are compared. */
const Compared = RunStep.pick({ status: true, input: true, output: true, branch: true, error: true }).meta({
  id: 'ComparedStep',
})

export const StepDifference = z.object({
  stepId: z.string(),
  iteration: z.int(),
  change: z.enum(['same', 'changed', 'added', 'missing']),
  fields: z.array(z.string()).meta({ description: 'The fields that differ' }),
  simulated: Compared.nullable(),
  recorded: Compared.nullable(),
})
export type StepDifference = z.infer<typeof StepDifference>

export const SimulatedRun = z
  .object({
    id,
    workflowId: id,
    workflowVersion: z.int().nullable().meta({ description: 'null for a definition that is not published' }),
    status: RunStatus,
    trigger: z.record(z.string(), z.unknown()),
    input: z.unknown(),
    output: z.unknown(),
    variables: z.record(z.string(), z.unknown()),
    waiting: Run.shape.waiting,
    error: Run.shape.error,
    steps: z.array(RunStep),
  })
  .meta({ id: 'SimulatedRun' })
export type SimulatedRun = z.infer<typeof SimulatedRun>

export const RunDifference = z.object({
  recordedRunId: id.nullable().meta({ description: 'null if no run was recorded' }),
  simulatedRunId: id.nullable().meta({ description: 'null if no run was simulated' }),
  sameAsRecorded: z.boolean(),
  steps: z.array(StepDifference),
})
export type RunDifference = z.infer<typeof RunDifference>

export const SimulationResult = z
  .object({
    outcome: z.enum(['finished', 'waiting', 'not_started']),
    reason: z.string().nullable().meta({ description: 'Why the simulation did not finish; null if it did' }),
    finishedAt: timestamp.meta({ description: 'The final time of the virtual clock' }),
    runs: z.array(SimulatedRun),
    transcript: z.array(
      z.object({
        at: timestamp,
        from: z.enum(['customer', 'workflow', 'system']).meta({ description: '`system`: confirms a consent keyword' }),
        body: z.string().nullable(),
        buttons: z.array(z.unknown()),
        stepId: z.string().nullable(),
      }),
    ),
    effects: z.array(z.looseObject({ at: timestamp, runId: id, stepId: z.string(), type: z.string() })),
    diff: z
      .array(RunDifference)
      .nullable()
      .meta({ description: 'Differences to the recorded runs of the conversation; null for a dialogue' }),
  })
  .meta({ id: 'Simulation' })
export type SimulationResult = z.infer<typeof SimulationResult>
