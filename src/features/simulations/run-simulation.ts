import { deriveId } from '../../engine/model/derive-id.ts'
import type { JsonObject } from '../../engine/model/run.ts'
import { queueRun } from '../../engine/model/new-run.ts'
import type { Subject, PublishedWorkflow } from '../../engine/model/subject.ts'
import { type DialogueEntry, type SimulationTrace, simulate, type Simulation } from '../../engine/simulate/simulate.ts'
import { broadcastReplied } from '../../triggers/broadcast-replied.ts'
import type { WorkflowEvent } from '../../triggers/events.ts'
import { currentThreadId, readThreadMs } from '../../platform/compute/thread-time.ts'
import { workflowLanguage } from '../../workflow-language.ts'
import type { KeywordSettings } from '../consent/keywords.ts'
import type { RecordedRun } from './load-recording.ts'
import { CALL_TRIGGER_TYPES, type StartedBy } from './schema.ts'
import { simulateExternalCalls } from './simulate-external-calls.ts'
import { handleKeyword, simulatedConversation } from './simulated-conversation.ts'
import type { Registry } from '../../engine/model/registry.ts'
import type { StepType } from '../../engine/model/step.ts'

/** Version number of a definition that is not published. */
export const UNPUBLISHED = 0

/** ID of a broadcast and a recipient that belong to no row. */
const SAMPLE_ID = '00000000-0000-7000-8000-000000000003'

/** The data of a simulation, which are handed to a compute thread. */
export type SimulationRequest = {
  workflow: PublishedWorkflow
  /** Workflows that `run_workflow` steps can start. */
  others: PublishedWorkflow[]
  subject: Subject
  now: Date
  /** Starts the workflow, unless a message of the customer does. */
  trigger?: StartedBy | undefined
  input?: unknown
  dialogue: DialogueEntry[]
  /** Events that precede the first message. */
  opening: WorkflowEvent[]
  stepOutputs: JsonObject
  keywords: KeywordSettings
  recorded?: RecordedRun[] | undefined
  /** Limit in thread time, after which the simulation ends with what it has simulated so far. */
  threadMsMax: number
}

export type QueuedSimulationRequest = Omit<SimulationRequest, 'trigger' | 'input' | 'opening'> &
  Pick<Simulation, 'queued'>

export function runSimulation(request: SimulationRequest): SimulationTrace {
  const { dialogue, ...start } = toStart(request)
  return simulateWith(request, [request.workflow], {
    ...start,
    dialogue: [...dialogue, ...request.dialogue],
    opening: request.opening,
  })
}

/** Simulates a run that is already queued: messages and events of the dialogue do not start another one. */
export function runQueuedSimulation(request: QueuedSimulationRequest): SimulationTrace {
  const { queued, dialogue, workflow } = request
  return simulateWith(request, [withoutTriggers(workflow)], { queued, dialogue })
}

type SimulationContext = Omit<SimulationRequest, 'workflow' | 'trigger' | 'input' | 'opening' | 'dialogue'>

function simulateWith(
  { others, subject, now, stepOutputs, keywords, recorded, threadMsMax }: SimulationContext,
  workflows: PublishedWorkflow[],
  start: Start & Pick<Simulation, 'opening'>,
): SimulationTrace {
  return simulate({
    ...start,
    now,
    registry: simulateChildRuns(workflowLanguage, stepOutputs, recorded),
    subject,
    published: [...workflows, ...others.map(withoutTriggers)],
    world: {
      ...simulatedConversation,
      handleKeyword: (current, body) => handleKeyword(keywords, current, body),
      callExternal: simulateExternalCalls(stepOutputs, recorded),
    },
    isOutOfTime: timeLimit(threadMsMax),
  })
}

/** Leaves a workflow that only `run_workflow` steps can start. */
function withoutTriggers(workflow: PublishedWorkflow): PublishedWorkflow {
  return { ...workflow, compiled: { ...workflow.compiled, triggers: [] } }
}

function timeLimit(ms: number): () => boolean {
  const thread = currentThreadId()
  const deadline = readThreadMs(thread) + ms
  return () => readThreadMs(thread) > deadline
}

type Start = Pick<Simulation, 'queued' | 'dialogue' | 'following'>

/** Converts the trigger of a simulation to a queued run, or to an event before the dialogue or behind its first message. */
function toStart(request: SimulationRequest): Start {
  const { workflow, input, dialogue, now } = request
  const trigger = request.trigger ?? (dialogue.length === 0 ? findCallTrigger(workflow) : undefined)
  if (!trigger) return { dialogue: [] }
  if (trigger.type === 'broadcast_replied') return { following: [toReply(trigger, workflow)], dialogue: [] }
  if (!isCallTrigger(trigger)) return { dialogue: [{ type: 'event', event: toEvent(trigger), afterMs: 0 }] }
  const { type, data } = trigger
  const hasTrigger = type === 'workflow' || workflow.compiled.triggers.some((one) => one.type === type)
  if (!hasTrigger) return { dialogue: [] }
  const id = deriveId('simulated start', 1, now.getTime())
  const state = queueRun(
    workflow.compiled,
    { id, trigger: { ...data, type, messageId: null }, input: input ?? null },
    now,
  )
  return { queued: { workflow, state }, dialogue: [] }
}

type CallTrigger = Extract<StartedBy, { type: (typeof CALL_TRIGGER_TYPES)[number] }>

function isCallTrigger(trigger: StartedBy): trigger is CallTrigger {
  return CALL_TRIGGER_TYPES.some((type) => type === trigger.type)
}

function findCallTrigger({ compiled }: PublishedWorkflow): StartedBy | undefined {
  const type = CALL_TRIGGER_TYPES.find((one) => compiled.triggers.some((trigger) => trigger.type === one))
  return type && { type }
}

type ReplyTrigger = Extract<StartedBy, { type: 'broadcast_replied' }>

/** Converts the trigger to the reply of a sample recipient. */
function toReply({ type, broadcastId, afterMs }: ReplyTrigger, { compiled }: PublishedWorkflow): WorkflowEvent {
  const [ownId] = compiled.triggers.flatMap((trigger) =>
    broadcastReplied.is(trigger) ? (trigger.broadcastId ?? []) : [],
  )
  return { type, broadcastId: broadcastId ?? ownId ?? SAMPLE_ID, recipientId: SAMPLE_ID, afterMs }
}

function toEvent(trigger: Exclude<StartedBy, CallTrigger | ReplyTrigger>): WorkflowEvent {
  if (trigger.type !== 'event') return trigger
  return { type: 'event', event: trigger.event, data: trigger.data ?? null }
}

/**
 * Lets `run_workflow` steps whose output is given or recorded use it, instead of simulating the other workflow: they then
 * make an external call like other steps.
 */
function simulateChildRuns(registry: Registry, stepOutputs: JsonObject, recorded: RecordedRun[] = []): Registry {
  const type = registry.steps.get('run_workflow')
  if (!type) return registry
  const overriddenIds = new Set([
    ...Object.keys(stepOutputs),
    ...recorded.flatMap(({ steps }) => steps.map(({ stepId }) => stepId)),
  ])
  const overridden: StepType = {
    ...type,
    execute(config, context) {
      const outcome = type.execute(config, context)
      if (outcome.kind !== 'start_run' || !overriddenIds.has(context.step.id)) return outcome
      const { start, ...report } = outcome
      return { ...report, kind: 'external', request: { ...start, type: 'run_workflow' } }
    },
  }
  return { ...registry, steps: new Map([...registry.steps, [type.type, overridden]]) }
}
