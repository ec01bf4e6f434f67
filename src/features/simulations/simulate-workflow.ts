import { type DialogueEntry, simulate } from '../../engine/simulate.ts'
import { type JsonObject, queueRun } from '../../engine/run.ts'
import { deriveId } from '../../engine/derive-id.ts'
import { Conversation as ConversationRow } from '../../models/conversation.ts'
import type { Scope } from '../../scope.ts'
import type { Published } from '../../engine/party.ts'
import { stepTypes } from '../workflows/steps/index.ts'
import { answerOutside, refuseUnknownSteps } from './answer-outside.ts'
import { diffRuns } from './diff-runs.ts'
import { loadParty } from './load-party.ts'
import { loadRecording } from './load-recording.ts'
import { loadSubject } from './load-subject.ts'
import { presentSimulation } from './present-simulation.ts'
import { readDialogue } from './read-dialogue.ts'
import type { SimulateWorkflow, SimulationResult, StartedBy } from './schema.ts'

/** It runs on the thread that answers everybody: it has to be over soon. */
const REAL_MS_MAX = 1000

/** Plays a workflow and does nothing: no message goes out, nothing is asked of the outside, no row is written. */
export async function simulateWorkflow(scope: Scope, input: SimulateWorkflow): Promise<SimulationResult> {
  const { workflowId, conversationId, contactId, contact, stepOutputs = {} } = input
  const subject = await loadSubject(scope, input)
  refuseUnknownSteps(subject.compiled, Object.keys(stepOutputs))
  if (conversationId !== undefined) await scope.get(ConversationRow, conversationId)
  const recording =
    conversationId === undefined ? undefined : await loadRecording(scope, { conversationId, workflowId })
  const now = input.at === undefined ? (recording?.startedAt ?? scope.now()) : new Date(input.at)
  const party = await loadParty(scope, { conversationId, contactId, contact, subject, at: now })
  const beginning = begin(subject, input, now)
  const spoken = recording?.dialogue ?? readDialogue(input.dialogue ?? [])
  const played = simulate({
    now,
    registry: stepTypes,
    party,
    published: [subject],
    queued: beginning.queued,
    dialogue: [...beginning.dialogue, ...spoken],
    answer: answerOutside(stepOutputs, recording?.runs),
    isOutOfTime: within(REAL_MS_MAX),
  })
  return { ...presentSimulation(played), diff: recording ? diffRuns(recording.runs, played.runs) : null }
}

export function within(ms: number): () => boolean {
  const deadline = performance.now() + ms
  return () => performance.now() > deadline
}

type Beginning = { queued?: Parameters<typeof simulate>[0]['queued']; dialogue: DialogueEntry[] }

/** What starts the run before anybody says anything. */
function begin(
  subject: Published,
  { trigger, input }: Pick<SimulateWorkflow, 'trigger' | 'input'>,
  now: Date,
): Beginning {
  if (!trigger) return { dialogue: [] }
  if (isNamed(trigger)) {
    const has = subject.compiled.triggers.some(({ type }) => type === trigger.type)
    if (!has) return { dialogue: [] }
    const told: JsonObject = { ...trigger.data, type: trigger.type, messageId: null }
    const id = deriveId('simulated start', 1, now.getTime())
    const state = queueRun(subject.compiled, { id, trigger: told, input: input ?? null }, now)
    return { queued: { workflow: subject, state }, dialogue: [] }
  }
  const event = trigger.type === 'event' ? { ...trigger, data: trigger.data ?? null } : trigger
  return { dialogue: [{ type: 'event', event: event as (DialogueEntry & { type: 'event' })['event'], afterMs: 0 }] }
}

type Named = Extract<StartedBy, { type: 'api' | 'manual' | 'webhook' | 'schedule' }>

/** These name the workflow that they start; the others happen, and start whatever has a trigger for them. */
function isNamed(trigger: StartedBy): trigger is Named {
  return ['api', 'manual', 'webhook', 'schedule'].includes(trigger.type)
}
