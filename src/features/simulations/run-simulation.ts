import type { TriggerEvent } from '../../engine/mailbox/match-trigger.ts'
import { deriveId } from '../../engine/model/derive-id.ts'
import { type JsonObject, queueRun } from '../../engine/model/run.ts'
import type { Effect } from '../../engine/model/step.ts'
import type { Subject, PublishedWorkflow } from '../../engine/model/subject.ts'
import {
  type DialogueEntry,
  type Opening,
  type SimulationTrace,
  simulate,
  type Simulation,
} from '../../engine/simulate/simulate.ts'
import { getField } from '../../platform/get-field.ts'
import { stepTypes } from '../../steps/index.ts'
import type { RecordedRun } from './load-recording.ts'
import { CALL_TRIGGER_TYPES, type StartedBy } from './schema.ts'
import { simulateChildRuns } from './simulate-child-runs.ts'
import { simulateExternalCalls } from './simulate-external-calls.ts'

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
  /** Events that the first message causes in addition. */
  openings: Opening[]
  stepOutputs: JsonObject
  recorded?: RecordedRun[] | undefined
  /** Limit in real time, since a simulation blocks the thread that serves requests. */
  realMsMax: number
}

export function runSimulation(request: SimulationRequest): SimulationTrace {
  const { queued, dialogue } = toStart(request)
  return simulateWith(request, [request.workflow], {
    queued,
    dialogue: [...dialogue, ...request.dialogue],
    opens: request.openings,
  })
}

/** Simulates a run that is already queued: messages and events of the dialogue do not start another one. */
export function runQueuedSimulation(
  request: Omit<SimulationRequest, 'trigger' | 'input' | 'openings'> & Pick<Simulation, 'queued'>,
): SimulationTrace {
  const { queued, dialogue, workflow } = request
  return simulateWith(request, [withoutTriggers(workflow)], { queued, dialogue })
}

type SimulationContext = Omit<SimulationRequest, 'workflow' | 'trigger' | 'input' | 'openings' | 'dialogue'>

function simulateWith(
  { others, subject, now, stepOutputs, recorded, realMsMax }: SimulationContext,
  workflows: PublishedWorkflow[],
  start: Pick<Simulation, 'queued' | 'dialogue' | 'opens'>,
): SimulationTrace {
  return simulate({
    ...start,
    now,
    registry: simulateChildRuns(stepTypes, stepOutputs, recorded),
    party: subject,
    published: [...workflows, ...others.map(withoutTriggers)],
    answer: simulateExternalCalls(stepOutputs, recorded),
    raises: toTriggerEvents,
    isOutOfTime: timeLimit(realMsMax),
  })
}

/** Leaves a workflow that only `run_workflow` steps can start. */
function withoutTriggers(workflow: PublishedWorkflow): PublishedWorkflow {
  return { ...workflow, compiled: { ...workflow.compiled, triggers: [] } }
}

export function timeLimit(ms: number): () => boolean {
  const deadline = performance.now() + ms
  return () => performance.now() > deadline
}

/** Converts an effect to the events that applying it would raise. */
export function toTriggerEvents(effect: Effect): TriggerEvent[] {
  const { type, tags, groupId, event, data } = effect
  if (Array.isArray(tags) && (type === 'add_tag' || type === 'remove_tag')) {
    const eventType = type === 'add_tag' ? 'tag_added' : 'tag_removed'
    return tags.map((tag) => ({ type: eventType, tag: String(tag) }))
  }
  if (type === 'set_consent') return [{ type: 'contact_updated', fields: ['consent'] }]
  if (type === 'update_contact') return [{ type: 'contact_updated', fields: listChangedFields(effect['values']) }]
  if (type === 'add_to_group') return [{ type: 'group_joined', groupId: String(groupId) }]
  if (type === 'remove_from_group') return [{ type: 'group_left', groupId: String(groupId) }]
  if (type === 'close_conversation') return [{ type: 'conversation_closed' }]
  return type === 'emit' && typeof event === 'string' ? [{ type: 'event', event, data: data ?? null }] : []
}

/** Lists the fields of an update, as if each of them changed its value. */
function listChangedFields(values: unknown): string[] {
  const details = Object.keys(Object(values)).filter((name) => name !== 'fields')
  return [...details, ...Object.keys(Object(getField(values, 'fields'))).map((key) => `fields.${key}`)]
}

/** Converts the trigger of a simulation to a queued run, or to an event before the dialogue. */
function toStart(request: SimulationRequest): Pick<Simulation, 'queued' | 'dialogue'> {
  const { workflow, input, dialogue, now } = request
  const trigger = request.trigger ?? (dialogue.length === 0 ? findCallTrigger(workflow) : undefined)
  if (!trigger) return { dialogue: [] }
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

function toEvent(trigger: Exclude<StartedBy, CallTrigger>): TriggerEvent {
  if (trigger.type !== 'event') return trigger
  return { type: 'event', event: trigger.event, data: trigger.data ?? null }
}
