import { recordPayload } from './record-payload.ts'
import type { StepRecord } from '../model/run.ts'

/** Redacts the values of the run's sensitive variables in a step record. */
export function redactStep(step: StepRecord, secrets: readonly string[]): StepRecord {
  return {
    ...step,
    input: recordPayload(step.input, secrets),
    output: recordPayload(step.output, secrets),
    error: step.error && { ...step.error, message: String(recordPayload(step.error.message, secrets)) },
  }
}
