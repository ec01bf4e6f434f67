import { CASCADES_MAX } from './cascade-limiter.ts'
import type { ExternalEffect, EffectRequest } from '../model/decision.ts'
import type { RunState } from '../model/run.ts'
import type { ExternalResult } from '../model/step.ts'

/** What is asked of another workflow is done within the mailbox. */
export function isChild(effect: EffectRequest['effect']): effect is ExternalEffect {
  return effect.type === 'external' && (effect as ExternalEffect).request['type'] === 'run_workflow'
}

export function childError(code: string, message: string, { retryable = false } = {}): ExternalResult {
  return { ok: false, error: { code, message, retryable } }
}

export const CASCADE_RATE_LIMITED = childError(
  'cascade_rate_limited',
  `Runs of runs may start a workflow ${CASCADES_MAX} times in a minute for a contact`,
  { retryable: true },
)

/** What the end of a run is to the run that waits for it. */
export function childResult({ id, status, output, error }: RunState): ExternalResult {
  if (status === 'completed') return { ok: true, output: { runId: id, output } }
  return childError('workflow_failed', error?.message ?? `The run of the other workflow was ${status}`)
}
