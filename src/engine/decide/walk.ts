import { evaluateCondition } from '../language/conditions.ts'
import { StepError } from '../language/step-error.ts'
import { STEP_WORK_MAX, withWorkBudget } from '../language/work-budget.ts'
import { findStep, type CompiledStep } from '../model/compiled.ts'
import type { DecisionDraft, Execution } from '../model/decision.ts'
import { countExecution, type RunState, type StepRecord, countVisits } from '../model/run.ts'
import type { Resumption } from '../model/step.ts'
import { applyOutcome, closeRun, skipStep } from './apply-outcome.ts'
import { nextId, createStepContext, templateSource } from './step-context.ts'

/** Executes step after step until the run waits or is finished. */
export function walk(draft: DecisionDraft, from: string | null): void {
  for (let id = from; id !== null;) id = executeStep(draft, id)
  if (draft.run.status === 'running') closeRun(draft, 'completed')
}

function executeStep(draft: DecisionDraft, id: string): string | null {
  const { run, compiled, now } = draft
  const step = findStep(compiled, id)
  if (!step) return failRun(draft, 'unknown_step', `The workflow has no step "${id}"`)
  const executed = countExecution(run, now)
  if (!executed) return stopAtLimit(draft)
  run.executed = executed
  const execution = { step, record: newRecord(draft, step) }
  if (step.disabled) return skipStep(draft, execution)
  const entry = enterStep(draft, step)
  if (entry.kind === 'ignore') return skipStep(draft, execution)
  return entry.kind === 'fail' ? applyOutcome(draft, execution, entry) : execute(draft, execution)
}

const ENTERED: Resumption = { kind: 'next' }
const SKIPPED: Resumption = { kind: 'ignore' }

/** An open loop has been entered before: its condition is not evaluated again in every iteration. */
function enterStep(draft: DecisionDraft, { id, if: condition }: CompiledStep): Resumption {
  if (!condition || draft.run.frames.some(({ loopId }) => loopId === id)) return ENTERED
  return runStep(() =>
    evaluateCondition(condition, templateSource(draft), draft.registry.operators) ? ENTERED : SKIPPED,
  )
}

/** Executes a step, or makes the next attempt at it. */
export function execute(draft: DecisionDraft, execution: Execution): string | null {
  const { step, record } = execution
  const type = draft.registry.steps.get(step.type)
  if (!type) return failRun(draft, 'unknown_step_type', `There is no step of type "${step.type}"`)
  const outcome = runStep(() => type.execute(step.config, createStepContext(draft, step, record.attempt)))
  return outcome.kind === 'ignore' ? null : applyOutcome(draft, execution, outcome)
}

/** Executes a step within its budget of work, and turns a StepError that it throws into its failure. */
export function runStep(act: () => Resumption): Resumption {
  try {
    return withWorkBudget(STEP_WORK_MAX, act).result
  } catch (error) {
    if (!(error instanceof StepError)) throw error
    const { code, message, retryable } = error
    return { kind: 'fail', error: { code, message, retryable } }
  }
}

export function stopAtLimit(draft: DecisionDraft): null {
  return failRun(draft, 'step_limit', 'The run exceeded the limit of 1,000 steps per hour or 10,000 steps in total')
}

function failRun(draft: DecisionDraft, code: string, message: string): null {
  return closeRun(draft, 'failed', { error: { code, message, stepId: draft.run.stepId } })
}

function newRecord(draft: DecisionDraft, step: CompiledStep): StepRecord {
  const { run, now } = draft
  const index = run.stepsCount
  run.stepsCount += 1
  return {
    id: nextId(draft),
    index,
    stepId: step.id,
    name: step.name,
    type: step.type,
    path: loopPath(step, run),
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

function loopPath({ id, loops }: CompiledStep, { frames }: RunState): string {
  const outer = frames.filter(({ loopId }) => loops.includes(loopId))
  return [...outer.map(({ loopId, index }) => `${loopId}[${index}]`), id].join('.')
}
