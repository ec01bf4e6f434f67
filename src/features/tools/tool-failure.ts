import { StepError } from '../../engine/language/step-error.ts'
import type { StepFailure } from '../../engine/model/step.ts'
import { AppError, LimitExceededError, UnavailableError } from '../../platform/errors.ts'
import { OutboundError } from '../../platform/outbound/outbound-error.ts'

/** How a call failed, for whoever made it. An error that is nobody's to see is thrown on. */
export function toFailure(error: unknown): StepFailure {
  if (error instanceof StepError || error instanceof OutboundError) {
    const { code, message, retryable } = error
    return { code, message, retryable }
  }
  if (!(error instanceof AppError)) throw error
  const { code, message } = error
  return { code, message, retryable: error instanceof UnavailableError || error instanceof LimitExceededError }
}
