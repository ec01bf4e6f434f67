/** Thrown by whatever a step does: the step fails with it, and with the step the run, unless the step says otherwise. */
export class StepError extends Error {
  override name = 'StepError'
  readonly code: string
  /** False if trying again can change nothing. */
  readonly retryable: boolean

  constructor(code: string, message: string, options: ErrorOptions & { retryable?: boolean } = {}) {
    super(message, options)
    this.code = code
    this.retryable = options.retryable ?? true
  }
}
