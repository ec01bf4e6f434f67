import { Conversation as ConversationRow } from '../../models/messaging/conversation.ts'
import type { Scope } from '../../scope.ts'
import { assertExternalSteps, assertKnownSteps } from './simulate-external-calls.ts'
import { diffRuns } from './diff-runs.ts'
import { loadOtherWorkflows } from './load-other-workflows.ts'
import { loadSimulatedSubject, toOpening } from './load-simulated-subject.ts'
import { loadRecording } from './load-recording.ts'
import { loadSimulatedWorkflow } from './load-simulated-workflow.ts'
import { runSimulation } from './run-simulation.ts'
import { toSimulationResult } from './to-simulation-result.ts'
import { parseDialogue } from './dialogue.ts'
import type { SimulateWorkflow, SimulationResult } from './schema.ts'

const REAL_MS_MAX = 1000

/** Plays a workflow and does nothing: no message goes out, nothing is asked of the outside, no row is written. */
export async function simulateWorkflow(scope: Scope, input: SimulateWorkflow): Promise<SimulationResult> {
  const { workflowId, conversationId, contactId, contact, stepOutputs = {}, trigger } = input
  const subject = await loadSimulatedWorkflow(scope, input)
  assertKnownSteps(subject.compiled, Object.keys(stepOutputs))
  assertExternalSteps(subject.compiled, Object.keys(stepOutputs))
  if (conversationId !== undefined) await scope.get(ConversationRow, conversationId)
  const recording =
    conversationId === undefined ? undefined : await loadRecording(scope, { conversationId, workflowId })
  const now = input.at === undefined ? (recording?.startedAt ?? scope.now()) : new Date(input.at)
  const found = await loadSimulatedSubject(scope, { conversationId, contactId, contact, subject, at: now })
  // Whether a person talked back then is not told by whether one talks now.
  const party = recording ? { ...found, isPaused: false } : found
  const played = runSimulation({
    subject,
    others: await loadOtherWorkflows(scope, subject),
    party,
    now,
    trigger,
    input: input.input,
    dialogue: recording?.dialogue ?? parseDialogue(input.dialogue ?? []),
    opening: recording ? [{ type: 'conversation_opened' }] : toOpening(party),
    stepOutputs,
    recorded: recording?.runs,
    realMsMax: REAL_MS_MAX,
  })
  return { ...toSimulationResult(played), diff: recording ? diffRuns(recording.runs, played.runs) : null }
}
