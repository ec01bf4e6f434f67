import { isFinished } from '../../engine/model/run.ts'
import { Run as RunRow, type RunStep as StepRow } from '../../models/automation.ts'
import { Message as MessageRow } from '../../models/messaging.ts'
import { ConflictError, UnprocessableError } from '../../platform/errors.ts'
import { groupBy } from '../../platform/group-by.ts'
import { getField } from '../../platform/fields.ts'
import type { Scope } from '../../scope/scope.ts'
import { toRunState } from '../runs/queries.ts'
import { formatDialogue } from '../simulations/dialogue.ts'
import { loadRunRecording, type RunRecording } from '../simulations/load-recording.ts'
import { loadSimulatedSubject } from '../simulations/load-simulated-subject.ts'
import { loadSimulatedWorkflow } from '../simulations/load-simulated-workflow.ts'
import { CALL_TRIGGER_TYPES, type Dialogue, type StartedBy } from '../simulations/schema.ts'
import { EXTERNAL_STEPS } from '../simulations/simulate-external-calls.ts'
import { insertTest } from './changes.ts'
import type { Expectation, SaveRunAsTest, WorkflowTest } from './schema.ts'

/** Maximum length of a message in a dialogue. */
const BODY_MAX = 4096

/**
 * Saves the messages, events and results of a run as a test, and its outcome as the expectation. The facts of the
 * contact are the current ones.
 * @throws ConflictError `run_not_finished`
 * @throws UnprocessableError `run_is_dry_run`, `run_was_canceled`, or `run_is_partial_replay`
 */
export async function saveRunAsTest(scope: Scope, { runId, name }: SaveRunAsTest): Promise<WorkflowTest> {
  const run = await scope.get(RunRow, runId)
  assertCanSave(run)
  const { workflowId, workflowVersion: version, conversationId, contactId } = run
  const recording = await loadRunRecording(scope, run)
  const workflow = await loadSimulatedWorkflow(scope, { workflowId, version })
  const reference = contactId === null ? { contact: null } : { conversationId, contactId }
  const subject = await loadSimulatedSubject(scope, { ...reference, workflow, at: recording.startedAt })
  return insertTest(scope, {
    workflowId,
    name,
    trigger: toTrigger(run),
    input: run.input,
    dialogue: formatDialogue(toDialogue(recording)),
    stepOutputs: toStepOutputs(recording.steps),
    contact: subject.contact,
    startsAt: recording.startedAt,
    opensConversation: recording.opensConversation,
    expectation: await toExpectation(scope, recording),
    sourceRunId: run.id,
  })
}

function assertCanSave(run: RunRow): void {
  if (!isFinished(run)) throw new ConflictError('run_not_finished', 'Only a finished run can be saved as a test')
  if (run.mode === 'dry_run') {
    throw new UnprocessableError('run_is_dry_run', 'A dry run cannot be saved as a test. Save the original run instead')
  }
  if (run.status === 'canceled') {
    throw new UnprocessableError('run_was_canceled', 'A canceled run cannot be saved as a test. Choose a completed run')
  }
  if (run.replayFromStepId !== null) {
    throw new UnprocessableError(
      'run_is_partial_replay',
      'This replay started in the middle of the workflow. Save the original run instead',
    )
  }
}

/** Returns null if a message alone started the run, since the dialogue of the test repeats that message. */
function toTrigger({ trigger }: RunRow): StartedBy | null {
  const { type, messageId, ...data } = trigger
  if (type === 'message_received' || (type === 'conversation_opened' && messageId !== null)) return null
  if (type === 'contact_updated') return { type, fields: [data['fields']].flat().map(String) }
  if (type === 'tag_added' || type === 'tag_removed') return { type, tag: String(data['tag']) }
  if (type === 'group_joined' || type === 'group_left') return { type, groupId: String(data['groupId']) }
  if (type === 'broadcast_replied') return { type, broadcastId: String(data['broadcastId']), afterMs: 0 }
  if (type === 'event') return { type, event: String(data['event']), data: data['data'] ?? null }
  if (type === 'conversation_opened' || type === 'conversation_closed' || type === 'contact_created') return { type }
  const callType = CALL_TRIGGER_TYPES.find((one) => one === type)
  return callType ? { type: callType, data } : null
}

function toDialogue({ first, later }: RunRecording): Dialogue {
  const opening = first ? [{ type: 'message' as const, body: first.body, message: first, afterMs: 0 }] : []
  return [...opening, ...later].flatMap((entry): Dialogue => {
    if (entry.type === 'advance') return [{ type: 'advance', by: entry.afterMs }]
    const after = entry.afterMs
    if (entry.type === 'event') {
      const { event } = entry
      return event.type === 'event'
        ? [{ type: 'event', event: String(event['event']), data: event['data'], after }]
        : []
    }
    const content = entry.message?.['content']
    return [
      {
        type: 'message',
        body: entry.body?.slice(0, BODY_MAX).toWellFormed() ?? '',
        after,
        ...(typeof content === 'object' && content !== null ? { content: { ...content } } : {}),
      },
    ]
  })
}

function toStepOutputs(steps: StepRow[]): Record<string, unknown> {
  const external = steps.filter(({ type }) => EXTERNAL_STEPS.has(type))
  return Object.fromEntries(
    [...groupBy(external, ({ stepId }) => stepId)].map(([stepId, iterations]) => [
      stepId,
      { iterations: iterations.map(({ output, error }) => (error ? { error } : output)) },
    ]),
  )
}

async function toExpectation(scope: Scope, { run, steps, first, messages }: RunRecording): Promise<Expectation> {
  const sent = await scope.query(MessageRow).where({ runId: run.id, direction: 'outbound' })
  const transcript = [...(first ? [first] : []), ...messages, ...sent].sort(compareMessages)
  return {
    status: run.status,
    path: steps.map(({ stepId }) => stepId),
    transcript: transcript.map(({ direction, body, content }) => ({
      from: direction === 'inbound' ? 'customer' : 'workflow',
      body,
      buttons: listButtonTitles(content),
    })),
    variables: listPublicVariables(run),
  }
}

/** Leaves out sensitive variables, which must not be readable in the test. */
function listPublicVariables(run: RunRow): Record<string, unknown> {
  const { variables = {}, sensitive = [] } = toRunState(run)
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !sensitive.includes(name)))
}

function compareMessages(a: MessageRow, b: MessageRow): number {
  return a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1)
}

function listButtonTitles(content: MessageRow['content']): string[] {
  const buttons = content?.['buttons']
  return Array.isArray(buttons) ? buttons.map((button) => String(getField(button, 'title'))) : []
}
