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

/** The error of a call that was not made or got no response. The message contains no resolved address. */
export class OutboundError extends Error {
  override name = 'OutboundError'
  readonly code: OutboundErrorCode
  /** False if another attempt would fail alike. */
  readonly retryable: boolean

  constructor(code: OutboundErrorCode, message: string, options: ErrorOptions & { retryable?: boolean } = {}) {
    super(message, options)
    this.code = code
    this.retryable = options.retryable ?? false
  }
}
