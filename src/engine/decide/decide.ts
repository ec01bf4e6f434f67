import { addMs } from '../../platform/time.ts'
import { closeRun } from './close-run.ts'
import { findStep, type CompiledDefinition } from '../model/compiled.ts'
import type { Decision, EngineEvent, Execution, DecisionDraft, Wait } from '../model/decision.ts'
import { countExecution, isFinished, type RunState, type WaitingFor } from '../model/run.ts'
import { applyOutcome, applyTimeout } from './apply-outcome.ts'
import type { Facts, StepRegistry, WakeUp } from '../model/step.ts'
import { createStepContext } from './step-context.ts'
import { execute, runStep, stopAtLimit, walk } from './walk.ts'

export type DecideInput = {
  compiled: CompiledDefinition
  run: RunState
  event: EngineEvent
  facts: Facts
  now: Date
  registry: StepRegistry
}

/**
 * Advances one run by one event, until it waits or is over. Depends on nothing but its input and changes nothing of it:
 * the same input decides the same, to the last id.
 */
export function decide({ run, event, ...input }: DecideInput): Decision {
  const progress: DecisionDraft = { ...input, run: { ...run }, steps: [], effects: [] }
  if (isFinished(run) || !takeIn(progress, event)) {
    return { isConsumed: false, run, facts: input.facts, steps: [], effects: [], wait: waitOf(run) }
  }
  const { steps, effects, facts } = progress
  return { isConsumed: true, run: progress.run, facts, steps, effects, wait: waitOf(progress.run) }
}

/** False if the event is not for the run as it stands. */
function takeIn(progress: DecisionDraft, event: EngineEvent): boolean {
  const { run, now } = progress
  switch (event.type) {
    case 'started':
      return start(progress)
    case 'reply':
      if (!isWaitingFor(run, 'reply') || isPast(run, now.toISOString())) return false
      run.message = event.message
      return resume(progress, event)
    case 'timer':
      if (run.epoch !== event.epoch) return false
      return run.debouncing ? start(progress) : ring(progress)
    case 'event':
      if (!isWaitingFor(run, 'event') || isPast(run, now.toISOString())) return false
      return resume(progress, event)
    case 'external_result':
      return run.epoch === event.epoch && isWaitingFor(run, 'result') && resume(progress, event)
    case 'failed':
      closeRun(progress, 'failed', { output: null, error: { ...event.error, stepId: run.stepId } })
      return true
    case 'canceled':
    case 'expired':
      closeRun(progress, event.type, { output: null, error: null })
      return true
  }
}

function start(progress: DecisionDraft): boolean {
  const { run, now, compiled } = progress
  if (run.status !== 'queued') return false
  const expiresAt = addMs(now, compiled.settings.maxDurationMs).toISOString()
  Object.assign(run, { status: 'running', startedAt: now.toISOString(), expiresAt, debouncing: null })
  walk(progress, run.stepId)
  return true
}

/** The one timer of a wait stands for the wait's own end, for the next attempt, or for the end of the run. */
function ring(progress: DecisionDraft): boolean {
  const { run } = progress
  if (!run.waiting) return false
  const { until, retrying } = run.waiting
  if (until === null || isPast(run, until)) {
    closeRun(progress, 'expired', { output: null, error: null })
    return true
  }
  if (retrying) return retry(progress)
  return run.waiting.for === 'timer' ? resume(progress, { type: 'timer' }) : giveUpWaiting(progress)
}

function retry(progress: DecisionDraft): boolean {
  const execution = openExecution(progress)
  if (!execution) return false
  if (countExecution(progress.run, progress.now)) {
    execution.record.attempt += 1
    wake(progress)
    walk(progress, execute(progress, execution))
  } else {
    stopAtLimit(progress)
  }
  return true
}

function giveUpWaiting(progress: DecisionDraft): boolean {
  const execution = openExecution(progress)
  if (!execution) return false
  const isForResult = isWaitingFor(progress.run, 'result')
  wake(progress)
  walk(progress, applyTimeout(progress, execution, isForResult))
  return true
}

function resume(progress: DecisionDraft, wakeup: WakeUp): boolean {
  const execution = openExecution(progress)
  const type = execution && progress.registry.get(execution.step.type)
  if (!execution || !type) return false
  const { step, record } = execution
  const turn = createStepContext(progress, step, record.attempt)
  const outcome = runStep(() => type.resume(step.config, turn, wakeup))
  if (outcome.kind === 'ignore') return false
  wake(progress)
  walk(progress, applyOutcome(progress, execution, outcome))
  return true
}

function wake({ run }: DecisionDraft): void {
  Object.assign(run, { status: 'running', waiting: null, open: null })
}

/** The step that waits, with a record of its own to go on writing in. */
function openExecution({ run, compiled }: DecisionDraft): Execution | undefined {
  const step = run.open ? findStep(compiled, run.open.stepId) : undefined
  return step && run.open ? { step, record: { ...run.open } } : undefined
}

function isWaitingFor({ waiting }: RunState, what: WaitingFor): boolean {
  return waiting?.for === what && !waiting.retrying
}

/** Whether the run may not last until then. */
function isPast(run: RunState, at: string): boolean {
  return run.expiresAt !== null && Date.parse(at) > Date.parse(run.expiresAt)
}

function waitOf({ status, waiting, stepId, epoch, expiresAt }: RunState): Wait | null {
  if (status !== 'waiting' || !waiting || stepId === null || expiresAt === null) return null
  const isBounded = waiting.until !== null && Date.parse(waiting.until) <= Date.parse(expiresAt)
  const wakeAt = isBounded && waiting.until !== null ? waiting.until : expiresAt
  return { for: waiting.for, stepId, epoch, until: waiting.until, wakeAt }
}
