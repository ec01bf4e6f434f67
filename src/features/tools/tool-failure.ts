import { StepError } from '../../engine/language/step-error.ts'
import type { StepFailure } from '../../engine/model/step.ts'
import { AppError, LimitExceededError, UnavailableError } from '../../platform/errors.ts'
import { OutboundError } from '../../platform/outbound/outbound-error.ts'

/** Converts an expected error to a step failure. Internal errors, which must not be exposed, are rethrown. */
export function toFailure(error: unknown): StepFailure {
  if (error instanceof StepError || error instanceof OutboundError) {
    const { code, message, retryable } = error
    return { code, message, retryable }
  }
  if (!(error instanceof AppError)) throw error
  const { code, message } = error
  return { code, message, retryable: error instanceof UnavailableError || error instanceof LimitExceededError }
}
