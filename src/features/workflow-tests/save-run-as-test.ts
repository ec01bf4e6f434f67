import type { StoredRun } from '../../engine/model/stored-run.ts'
import { isFinished, type RunState } from '../../engine/model/run.ts'
import { Message as MessageRow } from '../../models/messaging/message.ts'
import { Run as RunRow } from '../../models/automation/run.ts'
import type { RunStep as StepRow } from '../../models/automation/run-step.ts'
import { ConflictError, UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import { EXTERNAL_STEPS } from '../simulations/simulate-external-calls.ts'
import { loadRunRecording, type RunRecording } from '../simulations/load-run-recording.ts'
import { loadSimulatedSubject } from '../simulations/load-simulated-subject.ts'
import { loadSimulatedWorkflow } from '../simulations/load-simulated-workflow.ts'
import type { Dialogue, StartedBy } from '../simulations/schema.ts'
import { formatDialogue } from '../simulations/dialogue.ts'
import { insertTest } from './create-workflow-test.ts'
import type { Expectation, SaveRunAsTest, WorkflowTest } from './schema.ts'

/** As long as what is said in a dialogue may be. */
const BODY_MAX = 4096

/**
 * Keeps what a run met as a test, and what it did as what is expected. The contact's facts are those of now.
 * @throws ConflictError `run_not_finished`
 * @throws UnprocessableError `run_is_dry_run`, `run_was_canceled`, or `run_is_partial_replay` for one that began in the middle
 */
export async function saveRunAsTest(scope: Scope, { runId, name }: SaveRunAsTest): Promise<WorkflowTest> {
  const run = await scope.get(RunRow, runId)
  if (!isFinished(run)) throw new ConflictError('run_not_finished', 'Only a finished run can be saved as a test')
  if (run.mode === 'dry_run') {
    throw new UnprocessableError('run_is_dry_run', 'A dry run has sent nothing. Save the run that it tried')
  }
  if (run.status === 'canceled') {
    throw new UnprocessableError('run_was_canceled', 'This run was canceled, which nothing in a test would do again')
  }
  if (run.replayFromStepId !== null) {
    throw new UnprocessableError('run_is_partial_replay', 'This run began in the middle. Save the run that it replays')
  }
  const { workflowId, workflowVersion: version, conversationId, contactId } = run
  const recording = await loadRunRecording(scope, run)
  const subject = await loadSimulatedWorkflow(scope, { workflowId, version })
  const whom = contactId === null ? { contact: null } : { conversationId, contactId }
  const party = await loadSimulatedSubject(scope, { ...whom, subject, at: recording.startedAt })
  return insertTest(scope, {
    workflowId,
    name,
    trigger: startOf(run),
    input: run.input as Record<string, unknown> | null,
    dialogue: formatDialogue(dialogueOf(recording)),
    stepOutputs: outputsOf(recording.steps),
    contact: party.contact,
    startsAt: recording.startedAt,
    opensConversation: recording.opensConversation,
    expectation: await expectationOf(scope, recording),
    sourceRunId: run.id,
  })
}

/** A message starts the run again when it is said again. */
function startOf({ trigger }: RunRow): StartedBy | null {
  const { type, messageId, ...data } = trigger as StoredRun['trigger']
  if (type === 'message_received' || (type === 'conversation_opened' && messageId !== null)) return null
  if (type === 'contact_updated') return { type, fields: [data['fields']].flat().map(String) }
  if (type === 'tag_added' || type === 'tag_removed') return { type, tag: String(data['tag']) }
  if (type === 'group_joined' || type === 'group_left') return { type, groupId: String(data['groupId']) }
  if (type === 'event') return { type, event: String(data['event']), data: data['data'] ?? null }
  if (type === 'conversation_opened' || type === 'conversation_closed' || type === 'contact_created') return { type }
  return { type: type as 'api', data }
}

function dialogueOf({ first, later }: RunRecording): Dialogue {
  const said = first ? [{ type: 'message' as const, body: first.body, message: first, afterMs: 0 }] : []
  return [...said, ...later].flatMap((entry): Dialogue => {
    if (entry.type === 'advance') return [{ type: 'advance', by: entry.afterMs }]
    const after = entry.afterMs
    if (entry.type === 'event') {
      const { event } = entry
      return event.type === 'event'
        ? [{ type: 'event', event: String(event['event']), data: event['data'], after }]
        : []
    }
    const content = entry.message?.['content'] as Record<string, unknown> | null | undefined
    return [
      {
        type: 'message',
        body: entry.body?.slice(0, BODY_MAX).toWellFormed() ?? '',
        after,
        ...(content ? { content } : {}),
      },
    ]
  })
}

function outputsOf(steps: StepRow[]): Record<string, unknown> {
  const iterations = new Map<string, unknown[]>()
  for (const { type, stepId, output, error } of steps) {
    if (!EXTERNAL_STEPS.has(type)) continue
    iterations.set(stepId, [...(iterations.get(stepId) ?? []), error ? { error } : output])
  }
  return Object.fromEntries([...iterations].map(([stepId, outputs]) => [stepId, { iterations: outputs }]))
}

async function expectationOf(scope: Scope, { run, steps, first, messages }: RunRecording): Promise<Expectation> {
  const sent = await scope.query(MessageRow).where({ runId: run.id, direction: 'outbound' })
  const said = [...(first ? [first] : []), ...messages, ...sent].sort(inOrder)
  return {
    status: run.status,
    path: steps.map(({ stepId }) => stepId),
    transcript: said.map(({ direction, body, content }) => ({
      from: direction === 'inbound' ? 'customer' : 'workflow',
      body,
      buttons: buttonsOf(content),
    })),
    variables: openVariablesOf(run),
  }
}

/** Whoever may read a test may not read what the definition calls sensitive. */
function openVariablesOf({ state }: RunRow): Record<string, unknown> {
  const { variables = {}, sensitive = [] } = state as Partial<RunState>
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !sensitive.includes(name)))
}

function inOrder(a: MessageRow, b: MessageRow): number {
  return a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1)
}

function buttonsOf(content: MessageRow['content']): string[] {
  const buttons = content?.['buttons']
  return Array.isArray(buttons) ? buttons.map((button) => String((button as { title?: unknown }).title)) : []
}
