export type ErrorDetail = { path: string; message: string }

/**
 * What a rule throws when the caller can do something about it. `message` and `code` are shown to the caller as they
 * are; whatever must stay inside goes to `cause`. The subclass says which kind of refusal it is, and knows no transport.
 */
export abstract class AppError extends Error {
  readonly code: string
  /** A list names the inputs at fault; an object carries what the caller needs to go on. */
  readonly details: ErrorDetail[] | Record<string, unknown> | undefined

  constructor(code: string, message: string, details?: AppError['details'], options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.details = details
  }
}

/** The input is not of the form the procedure takes. */
export class InvalidError extends AppError {
  override name = 'InvalidError'
  constructor(message: string, details?: AppError['details'], code = 'validation_failed', options?: ErrorOptions) {
    super(code, message, details, options)
  }
}

/** Nobody is signed in, or the credentials are wrong. */
export class UnauthorizedError extends AppError {
  override name = 'UnauthorizedError'
  constructor(message = 'Unauthorized', code = 'unauthorized') {
    super(code, message)
  }
}

/** Signed in, but not allowed here. */
export class ForbiddenError extends AppError {
  override name = 'ForbiddenError'
  constructor(message = 'Forbidden', code = 'forbidden') {
    super(code, message)
  }
}

/** The row is not there, or belongs to another tenant: the caller cannot tell which. */
export class NotFoundError extends AppError {
  override name = 'NotFoundError'
  constructor(noun: string) {
    super('not_found', `${noun} not found`)
  }
}

/** The row is there, but in a state that does not allow this. */
export class ConflictError extends AppError {
  override name = 'ConflictError'
}

/** Well-formed and in the right state, but a business rule refuses it. */
export class UnprocessableError extends AppError {
  override name = 'UnprocessableError'
}

/** A computation over the caller's data exceeded its limit of time or memory. */
export class BudgetExceededError extends UnprocessableError {
  override name = 'BudgetExceededError'
  constructor(message: string, options?: ErrorOptions) {
    super('budget_exceeded', message, undefined, options)
  }
}

/** Too much, too often. */
export class LimitExceededError extends AppError {
  override name = 'LimitExceededError'
  readonly retryAfterSeconds: number
  constructor(code: string, message: string, retryAfterSeconds: number) {
    super(code, message)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Not now: something this process depends on is away or overloaded. */
export class UnavailableError extends AppError {
  override name = 'UnavailableError'
  readonly retryAfterSeconds: number
  constructor(message: string, retryAfterSeconds: number, options?: ErrorOptions) {
    super('unavailable', message, undefined, options)
    this.retryAfterSeconds = retryAfterSeconds
  }
}
