import { z } from 'zod'
import { eventName } from '../../engine/definition/names.ts'
import { id, instant, page, pageOf } from '../../trpc/wire.ts'

export const RunStatus = z.enum(['queued', 'running', 'waiting', 'completed', 'failed', 'canceled', 'expired'])
export const WaitingFor = z.enum(['reply', 'timer', 'event', 'result'])

export const Run = z
  .object({
    id,
    workflowId: id,
    workflowName: z.string(),
    workflowVersion: z.int().meta({ description: 'The version this run took when it started, and keeps' }),
    status: RunStatus,
    mode: z.enum(['live', 'dry_run']),
    trigger: z.object({ type: z.string(), eventId: id, messageId: id.nullable() }),
    contactId: id.nullable(),
    conversationId: id.nullable(),
    parentRunId: id.nullable().meta({ description: 'The run that started this one' }),
    input: z.unknown(),
    output: z.unknown(),
    variables: z.record(z.string(), z.unknown()),
    waiting: z.object({ for: WaitingFor, until: instant.nullable(), stepId: z.string() }).nullable(),
    error: z.object({ code: z.string(), message: z.string(), stepId: z.string().nullable() }).nullable(),
    replayOf: id.nullable(),
    rootRunId: id,
    replayFromStepId: z.string().nullable(),
    stepsCount: z.int(),
    messagesSent: z.int(),
    startedBy: z.object({ type: z.string(), id: id.nullable() }),
    queuedAt: instant,
    startedAt: instant.nullable(),
    finishedAt: instant.nullable(),
    durationMs: z.int().nullable(),
    createdAt: instant,
  })
  .meta({ id: 'Run' })
export type Run = z.infer<typeof Run>

export const RunPage = pageOf(Run)

export const RunStep = z
  .object({
    id,
    runId: id,
    index: z.int().meta({ description: 'Total order of the steps of a run, without gaps' }),
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
    delivery: z.string().nullable().meta({ description: 'Where the message this step sent stands now' }),
    waitingUntil: instant.nullable(),
    startedAt: instant,
    finishedAt: instant.nullable(),
    durationMs: z.int().nullable(),
  })
  .meta({ id: 'RunStep' })
export type RunStep = z.infer<typeof RunStep>

export const RunSteps = z.object({ steps: z.array(RunStep) })

export const RunRef = z.strictObject({ runId: id })
export type RunRef = z.infer<typeof RunRef>

export const SignalRun = z.strictObject({
  runId: id,
  event: eventName.meta({ description: 'The event that the run may wait for', examples: ['order.paid'] }),
  data: z.unknown().optional(),
})
export type SignalRun = z.infer<typeof SignalRun>

export const FollowRun = z.strictObject({ runId: id, lastEventId: z.string().max(100).nullish() })
export type FollowRun = z.infer<typeof FollowRun>

export const ListRuns = z.strictObject({
  ...page,
  status: RunStatus.optional(),
  workflowId: id.optional(),
  contactId: id.optional(),
  conversationId: id.optional(),
  waitingFor: WaitingFor.optional(),
  replayOf: id.optional(),
})
export type ListRuns = z.infer<typeof ListRuns>
