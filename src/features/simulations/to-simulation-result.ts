import type { StepRecord } from '../../engine/model/run.ts'
import type { SimulationTrace, SimulatedRun as PlayedRun } from '../../engine/simulate/simulate.ts'
import { redactSecrets } from '../runs/redact-secrets.ts'
import type { RunStep } from '../runs/schema.ts'
import { describeReason } from './describe-reason.ts'
import { UNPUBLISHED } from './load-simulated-workflow.ts'
import type { SimulatedRun, SimulationResult } from './schema.ts'

export function toSimulationResult(played: SimulationTrace): Omit<SimulationResult, 'diff'> {
  const { ended, reason, endedAt, runs, transcript, effects } = played
  return {
    ended,
    reason: describeReason(reason),
    endedAt: new Date(endedAt),
    runs: runs.map(toSimulatedRun),
    transcript: transcript.map((said) => ({ ...said, at: new Date(said.at) })),
    effects: effects.map((effect) => ({ ...effect, at: new Date(effect.at) })),
  }
}

function toSimulatedRun({ id, workflowId, workflowVersion, state, steps }: PlayedRun): SimulatedRun {
  const { status, trigger, waiting, stepId } = state
  return {
    id,
    workflowId,
    workflowVersion: workflowVersion === UNPUBLISHED ? null : workflowVersion,
    status,
    trigger,
    ...redactSecrets(state, state),
    waiting: waiting && stepId !== null ? { for: waiting.for, until: dateOf(waiting.until), stepId } : null,
    steps: steps.map((step) => toSimulatedStep(id, step)),
  }
}

function toSimulatedStep(runId: string, step: StepRecord): RunStep {
  const startedAt = new Date(step.startedAt)
  const finishedAt = dateOf(step.finishedAt)
  const times = { startedAt, finishedAt, waitingUntil: dateOf(step.waitingUntil) }
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

function dateOf(text: string | null): Date | null {
  return text === null ? null : new Date(text)
}
