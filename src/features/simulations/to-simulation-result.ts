import type { StepRecord } from '../../engine/model/run.ts'
import type { SimulationTrace, SimulatedRun as EngineRun } from '../../engine/simulate/simulate.ts'
import { redactSecrets } from '../runs/redact-secrets.ts'
import type { RunStep } from '../runs/schema.ts'
import { UNPUBLISHED } from './load-simulated-workflow.ts'
import type { SimulatedRun, SimulationResult } from './schema.ts'

export function toSimulationResult(trace: SimulationTrace): Omit<SimulationResult, 'diff'> {
  const { ended, why, endedAt, runs, transcript, effects } = trace
  return {
    ended,
    why,
    endedAt: new Date(endedAt),
    runs: runs.map(toSimulatedRun),
    transcript: transcript.map((entry) => ({ ...entry, at: new Date(entry.at) })),
    effects: effects.map((effect) => ({ ...effect, at: new Date(effect.at) })),
  }
}

function toSimulatedRun({ id, workflowId, workflowVersion, state, steps }: EngineRun): SimulatedRun {
  const { status, trigger, waiting, stepId } = state
  return {
    id,
    workflowId,
    workflowVersion: workflowVersion === UNPUBLISHED ? null : workflowVersion,
    status,
    trigger,
    ...redactSecrets(state, state),
    waiting: waiting && stepId !== null ? { for: waiting.for, until: toDate(waiting.until), stepId } : null,
    steps: steps.map((step) => toRunStep(id, step)),
  }
}

function toRunStep(runId: string, step: StepRecord): RunStep {
  const startedAt = new Date(step.startedAt)
  const finishedAt = toDate(step.finishedAt)
  const times = { startedAt, finishedAt, waitingUntil: toDate(step.waitingUntil) }
  const durationMs = finishedAt ? finishedAt.getTime() - startedAt.getTime() : null
  return {
    ...step,
    ...times,
    runId,
    durationMs,
    simulated: true,
    reusedFromId: null,
    delivery: null,
  }
}

function toDate(text: string | null): Date | null {
  return text === null ? null : new Date(text)
}
