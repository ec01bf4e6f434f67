import { Conversation as ConversationRow } from '../../models/messaging.ts'
import type { Scope } from '../../scope/scope.ts'
import { loadKeywordSettings } from '../consent/keyword-settings.ts'
import { parseDialogue } from './dialogue.ts'
import { loadRecording } from './load-recording.ts'
import { loadSimulatedSubject, toOpening } from './load-simulated-subject.ts'
import { loadOtherWorkflows, loadSimulatedWorkflow } from './load-simulated-workflow.ts'
import type { SimulateWorkflow, SimulationResult } from './schema.ts'
import { assertExternalSteps, assertKnownSteps } from './simulate-external-calls.ts'
import { simulateTask, SIMULATION_MS_MAX } from './simulation-tasks.ts'

/** Runs the live decision logic on a virtual clock that skips waits. It sends, calls and stores nothing. */
export async function simulateWorkflow(scope: Scope, input: SimulateWorkflow): Promise<SimulationResult> {
  const { workflowId, conversationId, contactId, contact, stepOutputs = {}, trigger } = input
  const workflow = await loadSimulatedWorkflow(scope, input)
  assertKnownSteps(workflow.compiled, Object.keys(stepOutputs))
  assertExternalSteps(workflow.compiled, Object.keys(stepOutputs))
  if (conversationId !== undefined) await scope.get(ConversationRow, conversationId)
  const recording =
    conversationId === undefined ? undefined : await loadRecording(scope, { conversationId, workflowId })
  const now = input.at === undefined ? (recording?.startedAt ?? scope.now()) : new Date(input.at)
  const current = await loadSimulatedSubject(scope, { conversationId, contactId, contact, workflow, at: now })
  // Automation being paused now says nothing about the time of the recording.
  const subject = recording ? { ...current, isPaused: false } : current
  return scope.compute(simulateTask, {
    workflow,
    others: await loadOtherWorkflows(scope, workflow),
    subject,
    now,
    trigger,
    input: input.input,
    dialogue: recording?.dialogue ?? parseDialogue(input.dialogue ?? []),
    opening: recording ? [{ type: 'conversation_opened' }] : toOpening(subject),
    stepOutputs,
    keywords: await loadKeywordSettings(scope),
    recorded: recording?.runs,
    threadMsMax: SIMULATION_MS_MAX,
  })
}
