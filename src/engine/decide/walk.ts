import { closeRun } from './close-run.ts'
import { findStep, type CompiledStep } from '../model/compiled.ts'
import { evaluateCondition } from '../language/conditions.ts'
import type { Execution, DecisionDraft } from '../model/decision.ts'
import { countExecution, type RunState, type StepRecord, countVisits } from '../model/run.ts'
import { applyOutcome, skipStep } from './apply-outcome.ts'
import type { Resumption } from '../model/step.ts'
import { StepError } from '../language/step-error.ts'
import { nextId, createStepContext, templateSource } from './step-context.ts'

/** Takes the run from step to step until it waits or is over. */
export function walk(progress: DecisionDraft, from: string | null): void {
  for (let id = from; id !== null;) id = takeStep(progress, id)
  if (progress.run.status === 'running') closeRun(progress, 'completed', { output: null, error: null })
}

function takeStep(progress: DecisionDraft, id: string): string | null {
  const { run, compiled, now } = progress
  const step = findStep(compiled, id)
  if (!step) return giveUp(progress, 'unknown_step', `The workflow has no step "${id}"`)
  if (!countExecution(run, now)) return stopAtLimit(progress)
  const execution = { step, record: openRecord(progress, step) }
  if (step.disabled || !isEntered(progress, step)) return skipStep(progress, execution)
  return execute(progress, execution)
}

/** A loop that is under way was entered before: what lets it be entered is not asked again in every round. */
function isEntered(progress: DecisionDraft, step: CompiledStep): boolean {
  const isUnderWay = progress.run.frames.some(({ loopId }) => loopId === step.id)
  return isUnderWay || !step.if || evaluateCondition(step.if, templateSource(progress))
}

/** Executes a step, or makes the next attempt at it. */
export function execute(progress: DecisionDraft, execution: Execution): string | null {
  const { step, record } = execution
  const type = progress.registry.get(step.type)
  if (!type) return giveUp(progress, 'unknown_step_type', `There is no step of type "${step.type}"`)
  const outcome = runStep(() => type.execute(step.config, createStepContext(progress, step, record.attempt)))
  return outcome.kind === 'ignore' ? null : applyOutcome(progress, execution, outcome)
}

/** What a step makes of what it does; an error that it throws for its author is how it fails. */
export function runStep(act: () => Resumption): Resumption {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof StepError)) throw error
    const { code, message, retryable } = error
    return { kind: 'fail', error: { code, message, retryable } }
  }
}

export function stopAtLimit(progress: DecisionDraft): null {
  return giveUp(progress, 'step_limit', 'The run took more steps than a run may: 1,000 within an hour, 10,000 in all')
}

function giveUp(progress: DecisionDraft, code: string, message: string): null {
  closeRun(progress, 'failed', { output: null, error: { code, message, stepId: progress.run.stepId } })
  return null
}

function openRecord(progress: DecisionDraft, step: CompiledStep): StepRecord {
  const { run, now } = progress
  const index = run.stepsCount
  run.stepsCount += 1
  return {
    id: nextId(progress),
    index,
    stepId: step.id,
    name: step.name,
    type: step.type,
    path: pathOf(step, run),
    iteration: countVisits(run, step.id),
    attempt: 1,
    status: 'running',
    input: null,
    output: null,
    branch: null,
    error: null,
    messageId: null,
    waitingUntil: null,
    startedAt: now.toISOString(),
    finishedAt: null,
  }
}

function pathOf({ id, loops }: CompiledStep, { frames }: RunState): string {
  const around = frames.filter(({ loopId }) => loops.includes(loopId))
  return [...around.map(({ loopId, index }) => `${loopId}[${index}]`), id].join('.')
}
