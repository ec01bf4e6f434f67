import { recordPayload } from './record-payload.ts'
import type { RunState, StepRecord } from '../model/run.ts'
import { collectSecrets } from './collect-secrets.ts'

/** Redacts the values of the run's sensitive variables in a step record. */
export function redactStep(step: StepRecord, state: RunState): StepRecord {
  const secrets = collectSecrets(state)
  return {
    ...step,
    input: recordPayload(step.input, secrets),
    output: recordPayload(step.output, secrets),
    error: step.error && { ...step.error, message: String(recordPayload(step.error.message, secrets)) },
  }
}
