import { addMs } from '../../platform/time.ts'
import { assignVariables } from './assign-variables.ts'
import { closeRun } from './close-run.ts'
import type { Execution, ExternalEffect, DecisionDraft } from '../model/decision.ts'
import { type CompiledStep, findStep, resolveTarget } from '../model/compiled.ts'
import { END } from '../language/definition/names.ts'
import type { Retry } from '../language/definition/step-base.ts'
import { type LoopFrame, type StepRecord, countVisits, type Waiting } from '../model/run.ts'
import type { StepFailure, StepOutcome, StepReport } from '../model/step.ts'

type Outcome<Kind extends StepOutcome['kind']> = Extract<StepOutcome, { kind: Kind }>

/** Writes down what a step came to. Gives the step to go on with, or null if the run waits or is over. */
export function applyOutcome(progress: DecisionDraft, execution: Execution, outcome: StepOutcome): string | null {
  if (outcome.input !== undefined) execution.record.input = outcome.input
  switch (outcome.kind) {
    case 'next':
      return goOn(progress, execution, outcome)
    case 'wait':
      return wait(progress, execution, outcome)
    case 'round':
      return goRound(progress, execution, outcome)
    case 'external':
      return askOutside(progress, execution, outcome)
    case 'end':
      return end(progress, execution, outcome)
    case 'fail':
      return fail(progress, execution, outcome.error)
  }
}

/** The wait ran out before what the step waited for came. */
export function applyTimeout(progress: DecisionDraft, execution: Execution, isForResult: boolean): string | null {
  const { step } = execution
  if (isForResult && step.onTimeout === null) {
    return fail(progress, execution, { code: 'timed_out', message: 'No result came within the time allowed' })
  }
  write(progress, execution, { status: 'completed', branch: 'timeout' })
  return leave(progress, execution, null, step.onTimeout ?? step.next)
}

/** A step that is passed over leaves what it gave before as it was. */
export function skipStep(progress: DecisionDraft, execution: Execution): string | null {
  write(progress, execution, { status: 'skipped' })
  return goTo(progress, execution, execution.step.skip)
}

function goOn(progress: DecisionDraft, execution: Execution, outcome: Outcome<'next'>): string | null {
  const { step } = execution
  const { output = null, saved = output } = outcome
  const changes = { ...outcome.variables, ...(step.saveAs ? { [step.saveAs]: saved } : {}) }
  const refused = assignVariables(progress, changes)
  if (refused) return fail(progress, execution, refused)
  tell(progress, execution, outcome)
  write(progress, execution, { status: 'completed', output, branch: outcome.branch ?? null })
  return leave(progress, execution, output, outcome.to ?? step.next)
}

function wait(progress: DecisionDraft, execution: Execution, outcome: Outcome<'wait'>): null {
  const { timeoutMs } = execution.step
  const timeout = outcome.for !== 'timer' && timeoutMs !== null ? addMs(progress.now, timeoutMs) : null
  const until = (outcome.until ?? timeout)?.toISOString() ?? null
  tell(progress, execution, outcome)
  return block(progress, execution, { for: outcome.for, until, retrying: false, memory: outcome.memory ?? null })
}

function askOutside(progress: DecisionDraft, execution: Execution, outcome: Outcome<'external'>): null {
  const { timeoutMs } = execution.step
  const until = timeoutMs === null ? null : addMs(progress.now, timeoutMs).toISOString()
  tell(progress, execution, outcome)
  block(progress, execution, { for: 'result', until, retrying: false, memory: outcome.memory ?? null })
  const { epoch } = progress.run
  const { attempt } = execution.record
  const effect: ExternalEffect = { type: 'external', epoch, attempt, timeoutMs, request: outcome.request }
  tell(progress, execution, { effects: [effect] })
  return null
}

function end(progress: DecisionDraft, execution: Execution, outcome: Outcome<'end'>): null {
  const { status, output = null, reason = 'The workflow stopped here' } = outcome
  tell(progress, execution, outcome)
  write(progress, execution, { status: 'completed', output })
  const error = status === 'failed' ? { code: 'stopped', message: reason, stepId: execution.step.id } : null
  closeRun(progress, status, { output, error })
  return null
}

function fail(progress: DecisionDraft, execution: Execution, failure: StepFailure): string | null {
  const { step, record } = execution
  const { code, message, retryable = true } = failure
  record.error = { code, message }
  if (retryable && step.retry && record.attempt <= step.retry.max) {
    const until = addMs(progress.now, delayOf(step.retry, record.attempt)).toISOString()
    return block(progress, execution, { for: 'timer', until, retrying: true, memory: null })
  }
  write(progress, execution, { status: 'failed' })
  if (step.onError === 'fail') {
    closeRun(progress, 'failed', { output: null, error: { code, message, stepId: step.id } })
    return null
  }
  const to = step.onError === 'continue' ? step.skip : step.onError
  return leave(progress, execution, { error: record.error }, to)
}

function delayOf({ backoff, delayMs, maxDelayMs }: Retry, attempt: number): number {
  return Math.min(backoff === 'fixed' ? delayMs : delayMs * 2 ** (attempt - 1), maxDelayMs)
}

/** The step waits, and the run with it. */
function block(progress: DecisionDraft, { step, record }: Execution, waiting: Waiting): null {
  const { run } = progress
  Object.assign(record, { status: 'waiting', waitingUntil: waiting.until } satisfies Partial<StepRecord>)
  progress.steps.push(record)
  Object.assign(run, { status: 'waiting', stepId: step.id, epoch: run.epoch + 1, waiting, open: record })
  return null
}

function write(progress: DecisionDraft, { record }: Execution, last: Partial<StepRecord>): void {
  Object.assign(record, { waitingUntil: null, finishedAt: progress.now.toISOString(), ...last })
  if (record.status === 'completed') record.error = null
  progress.steps.push(record)
}

function tell(progress: DecisionDraft, { step, record }: Execution, told: StepReport): void {
  const effects = (told.effects ?? []).map((effect) => ({ stepId: step.id, stepIndex: record.index, effect }))
  progress.effects.push(...effects)
  if (told.messageId) record.messageId = told.messageId
  const { contact, conversation } = told.facts ?? {}
  if (contact) progress.facts = { ...progress.facts, contact: { ...progress.facts.contact, ...contact } }
  if (conversation) {
    progress.facts = { ...progress.facts, conversation: { ...progress.facts.conversation, ...conversation } }
  }
}

function leave(progress: DecisionDraft, execution: Execution, output: unknown, to: string): string | null {
  progress.run.steps = { ...progress.run.steps, [execution.step.id]: { output } }
  return goTo(progress, execution, to)
}

function goTo({ run, compiled }: DecisionDraft, { step }: Execution, target: string): string | null {
  const to = resolveTarget(compiled, step, target)
  const around = findStep(compiled, to)?.loops ?? []
  run.visits = { ...run.visits, [step.id]: countVisits(run, step.id) + 1 }
  // Whoever goes back to the loop from within goes on with it; whoever leaves it will find it as new.
  run.frames = run.frames.filter(({ loopId }) => around.includes(loopId) || (loopId === to && isWithin(step, to)))
  run.stepId = to === END ? null : to
  return run.stepId
}

function isWithin(step: CompiledStep, loopId: string): boolean {
  return step.loops.includes(loopId)
}

/** The loop's own round is counted where the loop stands, before its first step is taken. */
function goRound(progress: DecisionDraft, execution: Execution, outcome: Outcome<'round'>): string | null {
  const { run } = progress
  const { step } = execution
  const refused = assignVariables(progress, outcome.variables ?? {})
  if (refused) return fail(progress, execution, refused)
  write(progress, execution, { status: 'completed', output: outcome.output ?? null, branch: 'round' })
  const to = leave(progress, execution, outcome.output ?? null, step.body ?? step.next)
  const frame: LoopFrame = { loopId: step.id, index: outcome.index, items: outcome.items }
  run.frames = [...run.frames.filter(({ loopId }) => loopId !== step.id), frame]
  return to
}
