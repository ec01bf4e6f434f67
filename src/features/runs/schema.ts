import { z } from 'zod'
import { eventName } from '../../engine/language/definition/names.ts'
import {
  json,
  jsonValue,
  id,
  timestamp,
  page,
  toPage,
  text,
  lastEventId,
  openEnum,
  timestampInput,
} from '../../trpc/schemas.ts'
import { workflowLanguage } from '../../workflow-language.ts'

export const RunStatus = z.enum(['queued', 'running', 'waiting', 'completed', 'failed', 'canceled', 'expired'])
export const WaitingFor = z.enum(['reply', 'timer', 'event', 'result'])

const TriggerType = openEnum([...workflowLanguage.triggers.keys(), 'workflow'])
export const RunStarter = z.object({ type: openEnum(['user', 'key', 'run', 'trigger', 'system']), id: id.nullable() })
const RunWaiting = z
  .object({ for: WaitingFor, until: timestamp.nullable(), stepId: z.string() })
  .meta({ id: 'RunWaiting' })
const RunError = z
  .object({ code: z.string(), message: z.string(), stepId: z.string().nullable() })
  .meta({ id: 'RunError' })

export const Run = z
  .object({
    id,
    workflowId: id,
    workflowName: z.string(),
    workflowVersion: z.int().meta({ description: 'The version of the workflow when the run was started' }),
    draft: z
      .boolean()
      .meta({ description: 'True if the run executed the draft instead of that version; only in mode `dry_run`' }),
    status: RunStatus,
    mode: z.enum(['live', 'dry_run']),
    trigger: z.object({ type: TriggerType, eventId: id, messageId: id.nullable() }),
    contactId: id.nullable(),
    conversationId: id.nullable(),
    parentRunId: id.nullable().meta({ description: 'The run that started this one' }),
    input: z.unknown(),
    output: z.unknown(),
    variables: z.record(z.string(), z.unknown()),
    waiting: RunWaiting.nullable(),
    error: RunError.nullable(),
    replayOf: id.nullable(),
    rootRunId: id,
    replayFromStepId: z.string().nullable(),
    replayCount: z.int().meta({ description: 'Number of replays of this run' }),
    currentStepId: z
      .string()
      .nullable()
      .meta({ description: 'The next or waiting step; null once the run is finished' }),
    stepCount: z.int(),
    sentMessageCount: z.int(),
    hasDeliveryFailures: z.boolean().meta({ description: 'True if a message of the run could not be delivered' }),
    startedBy: RunStarter,
    queuedAt: timestamp,
    startedAt: timestamp.nullable(),
    finishedAt: timestamp.nullable(),
    durationMs: z.int().nullable(),
    createdAt: timestamp,
  })
  .meta({ id: 'Run' })
export type Run = z.infer<typeof Run>

/** A run without what its workflow has computed, which may be large. */
export const RunSummary = Run.omit({ input: true, output: true, variables: true }).meta({ id: 'RunSummary' })

export const RunPage = toPage(Run)

export const RunStep = z
  .object({
    id,
    runId: id,
    index: z.int().meta({ description: 'Position among the steps of the run, without gaps' }),
    stepId: z.string(),
    name: z.string().nullable(),
    type: z.string(),
    path: z.string(),
    iteration: z.int(),
    attempt: z.int(),
    status: z.enum(['running', 'waiting', 'completed', 'failed', 'skipped', 'canceled']),
    input: z.unknown(),
    output: z.unknown(),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    branch: z.string().nullable(),
    reusedFromId: id.nullable(),
    simulated: z.boolean(),
    messageId: id.nullable(),
    delivery: z.string().nullable().meta({ description: 'Current status of the message that the step sent' }),
    waitingUntil: timestamp.nullable(),
    startedAt: timestamp,
    finishedAt: timestamp.nullable(),
    durationMs: z.int().nullable(),
  })
  .meta({ id: 'RunStep' })
export type RunStep = z.infer<typeof RunStep>

export const RunSteps = z.object({ steps: z.array(RunStep) }).meta({ description: 'The executed steps of the run' })

export const RunRef = z.strictObject({ runId: id })
export type RunRef = z.infer<typeof RunRef>

export const ReplayRun = z.strictObject({
  runId: id,
  from: text(64)
    .default('auto')
    .meta({
      description:
        'The step to start from. `auto`: the step at which the run stopped, or the start if it completed. Otherwise `start`, `failed`, the ID of a step of the workflow, or the ID of a run step',
      examples: ['auto'],
    }),
  version: z
    .union([z.enum(['original', 'published', 'draft']), z.int().min(1)], {
      error: 'must be original, published, draft, or the number of a version, 1 or more',
    })
    .default('original')
    .meta({ description: 'The definition to run; `draft` requires mode `dry_run`' }),
  mode: z
    .enum(['live', 'dry_run'])
    .default('live')
    .meta({ description: '`dry_run` sends and calls nothing: recorded replies and outputs are used instead' }),
  input: json.optional().meta({ description: 'Replaces the input of the run' }),
  variables: json.optional().meta({ description: 'Values that override the initial variables' }),
  stepOutputs: json.optional().meta({
    description:
      'By step ID, the result to use instead of executing the step: an output, or {"error": {"code", "message"}}',
  }),
  effects: z
    .enum(['reuse', 'rerun'])
    .default('reuse')
    .meta({ description: '`reuse` keeps the recorded steps before `from`; `rerun` executes them again' }),
})
export type ReplayRun = z.output<typeof ReplayRun>

export const SignalRun = z.strictObject({
  runId: id,
  event: eventName.meta({ description: 'The name of the event', examples: ['order.paid'] }),
  data: jsonValue.optional(),
})
export type SignalRun = z.infer<typeof SignalRun>

export const FollowRun = z.strictObject({ runId: id, lastEventId })
export type FollowRun = z.infer<typeof FollowRun>

const statuses = z
  .string()
  .transform((text, issues) => {
    const names = text.split(',').map((name) => RunStatus.safeParse(name.trim()))
    const values = names.flatMap(({ data }) => data ?? [])
    if (values.length === names.length) return values
    const message = `must be one or several of ${RunStatus.options.join(', ')}, separated by commas`
    issues.addIssue({ code: 'custom', message })
    return z.NEVER
  })
  .meta({
    override: { type: 'string' },
    description: `One or several of ${RunStatus.options.join(', ')}, separated by commas`,
    examples: ['failed,expired'],
  })

export const ListRuns = z
  .strictObject({
    ...page,
    status: statuses.optional(),
    workflowId: id.optional().meta({ description: 'Only runs of this workflow' }),
    version: z
      .int('must be a whole number')
      .min(1, 'must be 1 or more')
      .max(1_000_000_000)
      .optional()
      .meta({ description: 'Only runs of this version; requires `workflowId`' }),
    contactId: id.optional().meta({ description: 'Only runs of this contact' }),
    conversationId: id.optional().meta({ description: 'Only runs in this conversation' }),
    waitingFor: WaitingFor.optional().meta({ description: 'Only runs that wait for this' }),
    replayOf: id.optional().meta({ description: 'Only replays of this run' }),
    createdAfter: timestampInput.optional().meta({ description: 'Only runs that were created at or after this time' }),
    createdBefore: timestampInput.optional().meta({ description: 'Only runs that were created before this time' }),
    sort: z.enum(['-createdAt', 'createdAt']).default('-createdAt').meta({
      description: 'The order of the items; `-` means descending',
    }),
  })
  .refine(({ version, workflowId }) => version === undefined || workflowId !== undefined, {
    path: ['version'],
    message: 'requires `workflowId`, because versions are numbered per workflow',
  })
export type ListRuns = z.output<typeof ListRuns>
