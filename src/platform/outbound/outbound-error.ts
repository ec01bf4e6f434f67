export type OutboundErrorCode =
  | 'invalid_url'
  | 'invalid_request'
  | 'host_refused'
  | 'too_many_redirects'
  | 'answer_too_large'
  | 'invalid_response'
  | 'timed_out'
  | 'called_off'
  | 'unreachable'

/** A call that was not made, or brought no answer. The message names no address that a name led to. */
export class OutboundError extends Error {
  override name = 'OutsideRefused'
  readonly code: OutboundErrorCode
  /** False if calling again can change nothing. */
  readonly retryable: boolean

  constructor(code: OutboundErrorCode, message: string, options: ErrorOptions & { retryable?: boolean } = {}) {
    super(message, options)
    this.code = code
    this.retryable = options.retryable ?? false
  }
}
