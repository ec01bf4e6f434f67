import type { ErrorCode } from '../error-codes/index.ts'

export type ErrorDetail = { path: string; message: string }

/**
 * An error that the caller can act on. `message` and `code` are sent to the caller unchanged; internal details belong in
 * `cause`. The subclass is the kind of error; it is independent of the transport, except that the codes which it takes are
 * those with the HTTP status of the kind.
 */
export abstract class AppError<Status extends number = number> extends Error {
  readonly code: ErrorCode<Status>
  /** A list of the invalid inputs, or data that the caller needs to resolve the error. */
  readonly details: ErrorDetail[] | Record<string, unknown> | undefined

  constructor(code: ErrorCode<Status>, message: string, details?: AppError['details'], options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.details = details
  }
}

/** The input is invalid. */
export class InvalidError extends AppError<400> {
  override name = 'InvalidError'
  constructor(
    message: string,
    details?: AppError['details'],
    code: ErrorCode<400> = 'validation_failed',
    options?: ErrorOptions,
  ) {
    super(code, message, details, options)
  }
}

/** Reason why an API key is not accepted, in the parameters of the header `WWW-Authenticate` (RFC 6750). */
export type Challenge = { error: 'invalid_token' | 'insufficient_scope'; scope?: string; error_description?: string }

/** There is no valid session or API key, or the credentials are wrong. */
export class UnauthorizedError extends AppError<401> {
  override name = 'UnauthorizedError'
  readonly challenge: Challenge | undefined
  constructor(message = 'Unauthorized', code: ErrorCode<401> = 'unauthorized', challenge?: Challenge) {
    super(code, message)
    this.challenge = challenge
  }
}

/** The session or API key does not give access to this workspace or action. */
export class ForbiddenError extends AppError<403> {
  override name = 'ForbiddenError'
  readonly challenge: Challenge | undefined
  constructor(message = 'Forbidden', code: ErrorCode<403> = 'forbidden', challenge?: Challenge) {
    super(code, message)
    this.challenge = challenge
  }
}

/** The resource does not exist or belongs to another tenant; the caller cannot tell which. */
export class NotFoundError extends AppError<404> {
  override name = 'NotFoundError'
  constructor(noun: string, advice?: string) {
    super('not_found', `${noun} not found${advice === undefined ? '' : `. ${advice}`}`)
  }
}

/** The state of the resource does not allow the action. */
export class ConflictError extends AppError<409> {
  override name = 'ConflictError'
}

/** The same request is still being processed. Repeating it in a second gets its answer. */
export class InProgressError extends ConflictError {
  override name = 'InProgressError'
  readonly retryAfterSeconds = 1
}

/** A business rule does not allow a well-formed request. */
export class UnprocessableError extends AppError<422> {
  override name = 'UnprocessableError'
}

/** A computation over the caller's data exceeded its limit of time or memory. */
export class BudgetExceededError extends UnprocessableError {
  override name = 'BudgetExceededError'
  constructor(message: string, options?: ErrorOptions) {
    super('budget_exceeded', message, undefined, options)
  }
}

/** A provider refused a request that needs it, or did not answer. */
export class BadGatewayError extends AppError<502> {
  override name = 'BadGatewayError'
}

/** The input, or the answer to it, has more items or bytes than are accepted at once. */
export class TooLargeError extends AppError<413> {
  override name = 'TooLargeError'
  constructor(code: ErrorCode<413>, message: string) {
    super(code, message)
  }
}

/** A limit is exceeded. */
export class LimitExceededError extends AppError<429> {
  override name = 'LimitExceededError'
  readonly retryAfterSeconds: number
  constructor(code: ErrorCode<429>, message: string, retryAfterSeconds: number) {
    super(code, message)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** A dependency of this process is unreachable or overloaded. */
export class UnavailableError extends AppError<503> {
  override name = 'UnavailableError'
  readonly retryAfterSeconds: number
  constructor(message: string, retryAfterSeconds: number, options?: ErrorOptions) {
    super('unavailable', message, undefined, options)
    this.retryAfterSeconds = retryAfterSeconds
  }
}
