import { recordPayload } from './record-payload.ts'
import type { RunState, StepRecord } from './run.ts'

/** A step as it is kept: without the values of the run's sensitive variables. */
export function redactStep(step: StepRecord, { sensitive, variables }: RunState): StepRecord {
  const secrets = sensitive.flatMap((name) => (typeof variables[name] === 'string' ? [variables[name]] : []))
  return {
    ...step,
    input: recordPayload(step.input, secrets),
    output: recordPayload(step.output, secrets),
    error: step.error && { ...step.error, message: String(recordPayload(step.error.message, secrets)) },
  }
}
