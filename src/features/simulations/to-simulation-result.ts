import type { Outcome } from '../../engine/model/evaluation.ts'
import type { StepRecord, WaitingFor } from '../../engine/model/run.ts'
import type { SimulationTrace, SimulatedRun as EngineRun } from '../../engine/simulate/simulate.ts'
import type { SimulationLimit, SimulationReason } from '../../engine/simulate/simulation-end.ts'
import { redactSecrets } from '../runs/redact-secrets.ts'
import type { RunStep } from '../runs/schema.ts'
import { UNPUBLISHED } from './run-simulation.ts'
import type { SimulatedRun, SimulationResult } from './schema.ts'

export function toSimulationResult(trace: SimulationTrace): Omit<SimulationResult, 'diff'> {
  const { outcome, reason, finishedAt, runs, transcript, effects } = trace
  return {
    outcome,
    reason: describeReason(reason),
    finishedAt: new Date(finishedAt),
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

const OUTCOMES: Record<Outcome, string> = {
  no_match: 'No trigger of the workflow matches the message or event',
  condition_not_met: 'A trigger of the workflow matches, but its condition was not met',
  already_running: 'The workflow was already running, and its re-entry policy allows no second run',
  automation_paused: 'Automation of the conversation is paused',
  contact_blocked: 'The contact is blocked',
  consent_keyword: 'The message is a consent keyword, which starts no workflow',
  consumed_as_reply: 'Another run consumed the message as a reply',
  preempted_by_priority: 'Another workflow with a higher priority consumed the message',
  max_depth_exceeded: 'Workflows triggered each other too many times in a row',
  cascade_rate_limited: 'Workflows triggered each other too many times within a minute',
  workflow_unusable: 'The published version of the workflow cannot be executed',
}

const LIMITS: Record<SimulationLimit, string> = {
  virtual_time: 'A simulation ends after one year of virtual time',
  items: 'A simulation ends after 5000 events',
  real_time: 'The simulation took too long',
}

const AWAITED: Record<WaitingFor, string> = {
  reply: 'a reply',
  timer: 'a timer',
  event: 'an event',
  result: 'the result of an external call',
}

/** Describes in a sentence why a simulation did not finish. */
export function describeReason(reason: SimulationReason | null): string | null {
  switch (reason?.code) {
    case undefined:
      return null
    case 'limit_reached':
      return LIMITS[reason.limit]
    case 'not_started':
      return reason.outcome
        ? OUTCOMES[reason.outcome]
        : 'No message or event of the dialogue is of a type that the workflow has a trigger for'
    case 'queued':
      return 'A run waits behind another run'
    case 'waiting': {
      const until = reason.until ? `, until ${reason.until}` : ''
      return `Step "${reason.stepId}" waits for ${AWAITED[reason.for]}${until}`
    }
  }
}
