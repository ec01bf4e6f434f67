/** Thrown while a step is executed: the step fails with it, and with it the run, unless `onError` says otherwise. */
export class StepError extends Error {
  override name = 'StepError'
  readonly code: string
  /** False if a new attempt cannot succeed. */
  readonly retryable: boolean

  constructor(code: string, message: string, options: ErrorOptions & { retryable?: boolean } = {}) {
    // The message may quote a text that was cut within a character, which no database stores.
    super(message.toWellFormed(), options)
    this.code = code
    this.retryable = options.retryable ?? true
  }
}
