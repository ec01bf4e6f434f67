import type { ChildRunCall } from '../model/decision.ts'
import { isAwaitedBy, type StoredRun } from '../model/stored-run.ts'
import { isFinished, type RunState } from '../model/run.ts'
import type { PublishedWorkflow } from '../model/subject.ts'
import type { ExternalResult } from '../model/step.ts'
import { type CascadeLimiter, CASCADES_MAX, DEPTH_MAX } from './cascade-limiter.ts'
import type { StartRequest } from './mailbox-input.ts'

type Mailbox = { runs: StoredRun[]; published: PublishedWorkflow[]; cascades: CascadeLimiter; newId(): string }

/** A child run to start, or the result that its parent receives instead. */
export type ChildPlan = { workflow: PublishedWorkflow; request: StartRequest } | { result: ExternalResult }

export function planChildRun(parent: StoredRun, call: ChildRunCall, mailbox: Mailbox): ChildPlan {
  const { id, depth, message } = parent.state
  const { isAwaited, epoch } = call
  const workflow = mailbox.published.find(({ workflowId }) => workflowId === call.workflowId)
  if (!workflow) return reject('workflow_not_published', 'The workflow to run is not published')
  if (depth >= DEPTH_MAX) return reject('max_depth_exceeded', `Workflows may run each other ${DEPTH_MAX} deep`)
  if (mailbox.cascades.isExceeded(workflow.workflowId, depth + 1)) {
    const message = `Runs of runs may start a workflow ${CASCADES_MAX} times per minute for a contact`
    return reject('cascade_rate_limited', message, true)
  }
  if (isAwaited && workflow.compiled.settings.reentry === 'queue' && isWithin(parent, workflow, mailbox.runs)) {
    return reject('already_running', 'The workflow is already running, and waits for this run')
  }
  const request: StartRequest = {
    trigger: { type: 'workflow', messageId: null, runId: id },
    parentRunId: id,
    eventId: mailbox.newId(),
    message,
    input: call.input,
    depth: depth + 1,
    ...(isAwaited ? { parent: { runId: id, epoch } } : {}),
  }
  return { workflow, request }
}

export const ALREADY_RUNNING: ExternalResult = failure(
  'already_running',
  'The workflow is already running for this contact',
)

/** Converts a finished run to the result that its parent receives. */
export function childResult({ id, status, output, error }: RunState): ExternalResult {
  if (status === 'completed') return { ok: true, output: { runId: id, output } }
  return failure('workflow_failed', error?.message ?? `The run of the other workflow was ${status}`)
}

/** Lists the child runs for which their parent no longer waits. */
export function listUnawaitedChildren({ state }: StoredRun, runs: StoredRun[]): StoredRun[] {
  const children = runs.filter((run) => run.state.parent?.runId === state.id && !isFinished(run.state))
  return children.filter((child) => !isAwaitedBy(child, state))
}

/** True if the run, or one that waits for it, is of the workflow: a run queued behind that one could never start. */
function isWithin(run: StoredRun, workflow: PublishedWorkflow, runs: StoredRun[]): boolean {
  if (run.workflowId === workflow.workflowId) return true
  const parent = runs.find(({ state }) => state.id === run.state.parent?.runId)
  return parent !== undefined && isWithin(parent, workflow, runs)
}

function reject(code: string, message: string, retryable = false): ChildPlan {
  return { result: failure(code, message, retryable) }
}

function failure(code: string, message: string, retryable = false): ExternalResult {
  return { ok: false, error: { code, message, retryable } }
}
