import { deriveId } from '../../engine/model/derive-id.ts'
import type { Subject, PublishedWorkflow } from '../../engine/model/subject.ts'
import { type JsonObject, queueRun } from '../../engine/model/run.ts'
import { type DialogueEntry, type SimulationTrace, simulate, type Simulation } from '../../engine/simulate/simulate.ts'
import type { WorkflowEvent } from '../../triggers/events.ts'
import { workflowLanguage } from '../../workflow-language.ts'
import { simulatedConversation } from './simulated-conversation.ts'
import { simulateExternalCalls } from './simulate-external-calls.ts'
import { simulateChildRuns } from './simulate-child-runs.ts'
import type { RecordedRun } from './load-recording.ts'
import type { StartedBy } from './schema.ts'

export type SimulationRequest = {
  subject: PublishedWorkflow
  /** What it may run besides. */
  others: PublishedWorkflow[]
  party: Subject
  now: Date
  /** What starts it, if not what the customer says. */
  trigger?: StartedBy | undefined
  input?: unknown
  dialogue: DialogueEntry[]
  /** Events that precede the first message. */
  opening: WorkflowEvent[]
  stepOutputs: JsonObject
  recorded?: RecordedRun[] | undefined
  /** It runs on the thread that answers everybody: it has to be over soon. */
  realMsMax: number
}

export function runSimulation(play: SimulationRequest): SimulationTrace {
  const { queued, dialogue } = begin(play)
  return playWith(play, [play.subject], { queued, dialogue: [...dialogue, ...play.dialogue], opening: play.opening })
}

/** Plays a run that is there already: nothing that is said or happens starts another. */
export function runQueuedSimulation(
  play: Omit<SimulationRequest, 'trigger' | 'input' | 'opening'> & Pick<Simulation, 'queued'>,
): SimulationTrace {
  const { queued, dialogue, subject } = play
  return playWith(play, [withoutTriggers(subject)], { queued, dialogue })
}

type Playing = Omit<SimulationRequest, 'trigger' | 'input' | 'opening' | 'dialogue'>

function playWith(
  { others, party, now, stepOutputs, recorded, realMsMax }: Playing,
  subjects: PublishedWorkflow[],
  beginning: Pick<Simulation, 'queued' | 'dialogue' | 'opening'>,
): SimulationTrace {
  return simulate({
    ...beginning,
    now,
    registry: simulateChildRuns(workflowLanguage, stepOutputs, recorded),
    subject: party,
    published: [...subjects, ...others.map(withoutTriggers)],
    world: { ...simulatedConversation, callExternal: simulateExternalCalls(stepOutputs, recorded) },
    isOutOfTime: within(realMsMax),
  })
}

/** They are there to be run by the one that is played; nothing that happens starts them. */
function withoutTriggers(workflow: PublishedWorkflow): PublishedWorkflow {
  return { ...workflow, compiled: { ...workflow.compiled, triggers: [] } }
}

export function within(ms: number): () => boolean {
  const deadline = performance.now() + ms
  return () => performance.now() > deadline
}

/** What starts the run before anybody says anything. */
function begin({ subject, trigger, input, dialogue, now }: SimulationRequest): Pick<Simulation, 'queued' | 'dialogue'> {
  const wanted = trigger ?? (dialogue.length === 0 ? ownTriggerOf(subject) : undefined)
  if (!wanted) return { dialogue: [] }
  if (!isNamed(wanted)) return { dialogue: [{ type: 'event', event: eventOf(wanted), afterMs: 0 }] }
  const { type, data } = wanted
  const has = type === 'workflow' || subject.compiled.triggers.some((own) => own.type === type)
  if (!has) return { dialogue: [] }
  const id = deriveId('simulated start', 1, now.getTime())
  const told = { ...data, type, messageId: null }
  const state = queueRun(subject.compiled, { id, trigger: told, input: input ?? null }, now)
  return { queued: { workflow: subject, state }, dialogue: [] }
}

/** These name the workflow that they start; the others happen, and start whatever has a trigger for them. */
const NAMED = ['api', 'manual', 'webhook', 'schedule', 'workflow'] as const
type Named = Extract<StartedBy, { type: (typeof NAMED)[number] }>

function isNamed(trigger: StartedBy): trigger is Named {
  return NAMED.some((type) => type === trigger.type)
}

function ownTriggerOf({ compiled }: PublishedWorkflow): StartedBy | undefined {
  const type = NAMED.find((named) => compiled.triggers.some((own) => own.type === named))
  return type && { type }
}

function eventOf(trigger: Exclude<StartedBy, Named>): WorkflowEvent {
  if (trigger.type !== 'event') return trigger
  return { type: 'event', event: trigger.event, data: trigger.data ?? null }
}
