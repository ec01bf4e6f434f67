import { addMs } from '../../platform/time.ts'
import { type CompiledDefinition, findStep } from '../model/compiled.ts'
import { CorruptRunError } from '../model/corrupt-run-error.ts'
import type { Decision, DecisionDraft, EngineEvent, Execution, Wait } from '../model/decision.ts'
import type { Registry } from '../model/registry.ts'
import { countExecution, isFinished, type RunState, type WaitingFor } from '../model/run.ts'
import type { Facts, WakeUp } from '../model/step.ts'
import { collectSecrets } from '../redact/collect-secrets.ts'
import { applyOutcome, applyTimeout, closeRun } from './apply-outcome.ts'
import { createStepContext } from './step-context.ts'
import { execute, runStep, stopAtLimit, walk } from './walk.ts'

type DecideInput = {
  compiled: CompiledDefinition
  run: RunState
  event: EngineEvent
  facts: Facts
  now: Date
  registry: Registry
}

/**
 * Advances one run by one event, until it waits or is finished. Depends on its input alone and leaves it unchanged: the
 * same input gives the same decision, including all ids.
 */
export function decide({ run, event, ...input }: DecideInput): Decision {
  const collected = { steps: [], effects: [], call: null, replacedSecrets: new Set<string>() }
  const draft: DecisionDraft = { ...input, run: { ...run }, ...collected }
  if (isFinished(run) || !consume(draft, event)) {
    return {
      isConsumed: false,
      run,
      facts: input.facts,
      steps: [],
      effects: [],
      call: null,
      wait: toWait(run),
      secrets: [],
    }
  }
  const { steps, effects, facts, call } = draft
  const secrets = [...draft.replacedSecrets, ...collectSecrets(draft.run)]
  return { isConsumed: true, run: draft.run, facts, steps, effects, call, wait: toWait(draft.run), secrets }
}

/** @throws CorruptRunError for every error, so that the caller knows which run of which workflow caused it */
export function decideRun({ workflowId, ...input }: DecideInput & { workflowId: string }): Decision {
  try {
    return decide(input)
  } catch (error) {
    throw new CorruptRunError(input.run, workflowId, error)
  }
}

/** Returns false if the event is not for the run as it stands. */
function consume(draft: DecisionDraft, event: EngineEvent): boolean {
  const { run, now } = draft
  switch (event.type) {
    case 'started':
      return start(draft)
    case 'reply':
      if (!isWaitingFor(run, 'reply') || endsBefore(run, now.toISOString())) return false
      run.message = event.message
      return resume(draft, event)
    case 'timer':
      if (run.epoch !== event.epoch) return false
      return run.debouncing ? start(draft) : fireTimer(draft)
    case 'event':
      if (!isWaitingFor(run, 'event') || endsBefore(run, now.toISOString())) return false
      return resume(draft, event)
    case 'external_result':
      return run.epoch === event.epoch && isWaitingFor(run, 'result') && resume(draft, event)
    case 'failed':
      closeRun(draft, 'failed', { error: { ...event.error, stepId: run.stepId } })
      return true
    case 'canceled':
      closeRun(draft, 'canceled', { error: event.error ? { ...event.error, stepId: run.stepId } : null })
      return true
    case 'expired':
      closeRun(draft, 'expired')
      return true
  }
}

function start(draft: DecisionDraft): boolean {
  const { run, now, compiled } = draft
  if (run.status !== 'queued') return false
  const expiresAt = addMs(now, compiled.settings.maxDurationMs).toISOString()
  Object.assign(run, { status: 'running', startedAt: now.toISOString(), expiresAt, debouncing: null })
  walk(draft, run.stepId)
  return true
}

/** Fires the one timer of a wait: the end of the wait itself, the next attempt, or the end of the run. */
function fireTimer(draft: DecisionDraft): boolean {
  const { run } = draft
  if (!run.waiting) return false
  const { until, retrying } = run.waiting
  if (until === null || endsBefore(run, until)) {
    closeRun(draft, 'expired')
    return true
  }
  if (retrying) return retry(draft)
  return run.waiting.for === 'timer' ? resume(draft, { type: 'timer' }) : timeOut(draft)
}

function retry(draft: DecisionDraft): boolean {
  const execution = openExecution(draft)
  if (!execution) return false
  const executed = countExecution(draft.run, draft.now)
  if (executed) {
    draft.run.executed = executed
    execution.record.attempt += 1
    wake(draft)
    walk(draft, execute(draft, execution))
  } else {
    stopAtLimit(draft)
  }
  return true
}

function timeOut(draft: DecisionDraft): boolean {
  const execution = openExecution(draft)
  if (!execution) return false
  const isForResult = isWaitingFor(draft.run, 'result')
  wake(draft)
  walk(draft, applyTimeout(draft, execution, isForResult))
  return true
}

function resume(draft: DecisionDraft, wakeup: WakeUp): boolean {
  const execution = openExecution(draft)
  const type = execution && draft.registry.steps.get(execution.step.type)
  if (!execution || !type) return false
  const { step, record } = execution
  const context = createStepContext(draft, step, record.attempt)
  const outcome = runStep(() => type.resume(step.config, context, wakeup))
  if (outcome.kind === 'ignore') return false
  wake(draft)
  walk(draft, applyOutcome(draft, execution, outcome))
  return true
}

function wake({ run }: DecisionDraft): void {
  Object.assign(run, { status: 'running', waiting: null, open: null })
}

/** Returns the step that waits, with a copy of its record. */
function openExecution({ run, compiled }: DecisionDraft): Execution | undefined {
  const step = run.open ? findStep(compiled, run.open.stepId) : undefined
  return step && run.open ? { step, record: { ...run.open } } : undefined
}

function isWaitingFor({ waiting }: RunState, awaited: WaitingFor): boolean {
  return waiting?.for === awaited && !waiting.retrying
}

function endsBefore(run: RunState, at: string): boolean {
  return run.expiresAt !== null && Date.parse(at) > Date.parse(run.expiresAt)
}

function toWait({ status, waiting, stepId, epoch, expiresAt }: RunState): Wait | null {
  if (status !== 'waiting' || !waiting || stepId === null || expiresAt === null) return null
  const isBounded = waiting.until !== null && Date.parse(waiting.until) <= Date.parse(expiresAt)
  const wakeAt = isBounded && waiting.until !== null ? waiting.until : expiresAt
  return { for: waiting.for, stepId, epoch, until: waiting.until, wakeAt }
}
