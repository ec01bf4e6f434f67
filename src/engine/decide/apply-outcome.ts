import { addMs } from '../../platform/time.ts'
import { END } from '../language/definition/names.ts'
import type { Retry } from '../language/definition/step-base.ts'
import { findStep, resolveTarget } from '../model/compiled.ts'
import type { DecisionDraft, Execution } from '../model/decision.ts'
import {
  countVisits,
  type JsonObject,
  type LoopFrame,
  type RunError,
  type RunState,
  type RunStatus,
  type StepRecord,
  type Waiting,
} from '../model/run.ts'
import type { Facts, StepFailure, StepOutcome, StepReport } from '../model/step.ts'
import { collectSecrets, SECRETS_MAX } from '../redact/collect-secrets.ts'
import { assignVariables } from './assign-variables.ts'

type Outcome<Kind extends StepOutcome['kind']> = Extract<StepOutcome, { kind: Kind }>

type FinalStatus = Extract<RunStatus, 'completed' | 'failed' | 'canceled' | 'expired'>

/** Records the outcome of a step. Returns the id of the next step, or null if the run waits or is finished. */
export function applyOutcome(draft: DecisionDraft, execution: Execution, outcome: StepOutcome): string | null {
  if (outcome.input !== undefined) execution.record.input = outcome.input
  switch (outcome.kind) {
    case 'next':
      return applyNext(draft, execution, outcome)
    case 'suspend':
      return suspend(draft, execution, outcome)
    case 'iterate':
      return iterate(draft, execution, outcome)
    case 'external':
      return callExternal(draft, execution, outcome)
    case 'start_run':
      return callWorkflow(draft, execution, outcome)
    case 'end':
      return end(draft, execution, outcome)
    case 'fail':
      return fail(draft, execution, outcome.error)
  }
}

/** Applies the end of a wait before the awaited event came. */
export function applyTimeout(draft: DecisionDraft, execution: Execution, isForResult: boolean): string | null {
  const { step } = execution
  if (isForResult && step.onTimeout === null) {
    return fail(draft, execution, { code: 'timed_out', message: 'No result arrived within the timeout' })
  }
  finishStep(draft, execution, { status: 'completed', branch: 'timeout' })
  return leave(draft, execution, { output: null, to: step.onTimeout ?? step.next })
}

/** Skips a step. Its earlier output stays readable. */
export function skipStep(draft: DecisionDraft, execution: Execution): string | null {
  finishStep(draft, execution, { status: 'skipped' })
  return moveTo(draft, execution, execution.step.skip)
}

/** Finishes the run. A step that still waits is canceled; a completed run has no current step. */
export function closeRun(
  draft: DecisionDraft,
  status: FinalStatus,
  { output = null, error = null }: { output?: unknown; error?: RunError | null } = {},
): null {
  const { run, now } = draft
  const finishedAt = now.toISOString()
  if (run.open && !draft.steps.some(({ index }) => index === run.open?.index)) {
    draft.steps.push({ ...run.open, status: 'canceled', waitingUntil: null, finishedAt })
  }
  const stepId = status === 'completed' ? null : run.stepId
  Object.assign(run, { status, stepId, waiting: null, open: null, output, error, finishedAt })
  return null
}

function applyNext(draft: DecisionDraft, execution: Execution, outcome: Outcome<'next'>): string | null {
  const { step } = execution
  const { output = null, saved = output } = outcome
  const changes = { ...outcome.variables, ...(step.saveAs ? { [step.saveAs]: saved } : {}) }
  const { variables, failure } = assignVariables(draft.run, draft.compiled, changes)
  if (failure) return fail(draft, execution, failure)
  setVariables(draft, variables)
  addReport(draft, execution, outcome)
  finishStep(draft, execution, { status: 'completed', output, branch: outcome.branch ?? null })
  return leave(draft, execution, { output, to: outcome.to ?? step.next })
}

/** Sets the variables. The secrets that they replace may be in steps and effects before. */
function setVariables({ run, replacedSecrets }: DecisionDraft, variables: JsonObject): void {
  const changed = run.sensitive.filter((name) => variables[name] !== run.variables[name])
  for (const secret of collectSecrets({ sensitive: changed, variables: run.variables })) {
    if (replacedSecrets.size < SECRETS_MAX) replacedSecrets.add(secret)
  }
  run.variables = variables
}

function suspend(draft: DecisionDraft, execution: Execution, outcome: Outcome<'suspend'>): null {
  const { timeoutMs } = execution.step
  const timeout = outcome.for !== 'timer' && timeoutMs !== null ? addMs(draft.now, timeoutMs) : null
  const until = (outcome.until ?? timeout)?.toISOString() ?? null
  addReport(draft, execution, outcome)
  return block(draft, execution, { for: outcome.for, until, retrying: false, state: outcome.state ?? null })
}

function callExternal(draft: DecisionDraft, execution: Execution, outcome: Outcome<'external'>): null {
  const { step, record } = execution
  awaitResult(draft, execution, outcome, outcome.state)
  draft.call = {
    target: 'external',
    stepId: step.id,
    stepIndex: record.index,
    epoch: draft.run.epoch,
    attempt: record.attempt,
    timeoutMs: step.timeoutMs,
    request: outcome.request,
  }
  return null
}

function callWorkflow(draft: DecisionDraft, execution: Execution, outcome: Outcome<'start_run'>): null {
  awaitResult(draft, execution, outcome)
  draft.call = { target: 'workflow', stepId: execution.step.id, epoch: draft.run.epoch, ...outcome.start }
  return null
}

function awaitResult(draft: DecisionDraft, execution: Execution, report: StepReport, state: unknown = null): void {
  const { timeoutMs } = execution.step
  const until = timeoutMs === null ? null : addMs(draft.now, timeoutMs).toISOString()
  addReport(draft, execution, report)
  block(draft, execution, { for: 'result', until, retrying: false, state })
}

function end(draft: DecisionDraft, execution: Execution, outcome: Outcome<'end'>): null {
  const { status, output = null, reason = 'The workflow stopped here' } = outcome
  addReport(draft, execution, outcome)
  finishStep(draft, execution, { status: 'completed', output })
  const error = status === 'failed' ? { code: 'stopped', message: reason, stepId: execution.step.id } : null
  return closeRun(draft, status, { output, error })
}

function fail(draft: DecisionDraft, execution: Execution, failure: StepFailure): string | null {
  const { step, record } = execution
  const { code, message, retryable = true } = failure
  record.error = { code, message }
  if (retryable && step.retry && record.attempt <= step.retry.max) {
    const until = addMs(draft.now, retryDelay(step.retry, record.attempt)).toISOString()
    return block(draft, execution, { for: 'timer', until, retrying: true, state: null })
  }
  finishStep(draft, execution, { status: 'failed' })
  if (step.onError === 'fail') return closeRun(draft, 'failed', { error: { code, message, stepId: step.id } })
  const to = step.onError === 'continue' ? step.skip : step.onError
  return leave(draft, execution, { output: { error: record.error }, to })
}

function retryDelay({ backoff, delayMs, maxDelayMs }: Retry, attempt: number): number {
  return Math.min(backoff === 'fixed' ? delayMs : delayMs * 2 ** (attempt - 1), maxDelayMs)
}

/** Lets the step wait, and the run with it. */
function block(draft: DecisionDraft, { step, record }: Execution, waiting: Waiting): null {
  const { run } = draft
  Object.assign(record, { status: 'waiting', waitingUntil: waiting.until } satisfies Partial<StepRecord>)
  draft.steps.push(record)
  Object.assign(run, { status: 'waiting', stepId: step.id, epoch: run.epoch + 1, waiting, open: record })
  return null
}

function finishStep(draft: DecisionDraft, { record }: Execution, result: Partial<StepRecord>): void {
  Object.assign(record, { waitingUntil: null, finishedAt: draft.now.toISOString(), ...result })
  if (record.status === 'completed') record.error = null
  draft.steps.push(record)
}

function addReport(draft: DecisionDraft, { step, record }: Execution, report: StepReport): void {
  for (const effect of report.effects ?? []) draft.effects.push({ stepId: step.id, stepIndex: record.index, effect })
  if (report.messageId) record.messageId = report.messageId
  if (report.facts) draft.facts = mergeFacts(draft.facts, report.facts)
}

function mergeFacts(facts: Facts, { contact, conversation }: NonNullable<StepReport['facts']>): Facts {
  return {
    ...facts,
    ...(contact ? { contact: { ...facts.contact, ...contact } } : {}),
    ...(conversation ? { conversation: { ...facts.conversation, ...conversation } } : {}),
  }
}

function leave(draft: DecisionDraft, execution: Execution, { output, to }: { output: unknown; to: string }) {
  draft.run.steps = { ...draft.run.steps, [execution.step.id]: { output } }
  return moveTo(draft, execution, to)
}

function moveTo({ run, compiled }: DecisionDraft, { step }: Execution, target: string): string | null {
  const to = resolveTarget(compiled, step, target)
  const loops = findStep(compiled, to)?.loops ?? []
  run.visits = { ...run.visits, [step.id]: countVisits(run, step.id) + 1 }
  // Returning to a loop from its body continues it; leaving it discards its frame.
  const isBackToLoop = step.loops.includes(to)
  run.frames = run.frames.filter(({ loopId }) => loops.includes(loopId) || (loopId === to && isBackToLoop))
  run.stepId = to === END ? null : to
  return run.stepId
}

/** Enters the next iteration of a loop. Its index is set on the loop itself, before the first step of the body. */
function iterate(draft: DecisionDraft, execution: Execution, outcome: Outcome<'iterate'>): string | null {
  const { run, compiled } = draft
  const { step } = execution
  const { output = null, index, items } = outcome
  const { variables, failure } = assignVariables(run, compiled, outcome.variables ?? {})
  if (failure) return fail(draft, execution, failure)
  setVariables(draft, variables)
  finishStep(draft, execution, { status: 'completed', output, branch: 'iteration' })
  const to = leave(draft, execution, { output, to: step.body ?? step.next })
  run.frames = withFrame(run, { loopId: step.id, index, items })
  return to
}

function withFrame({ frames }: RunState, frame: LoopFrame): LoopFrame[] {
  return [...frames.filter(({ loopId }) => loopId !== frame.loopId), frame]
}
