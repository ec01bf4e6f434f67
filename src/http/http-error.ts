import { AppError } from '../platform/errors.ts'

/** A refusal of the shell itself, with the status HTTP has for it. */
export class HttpError extends AppError {
  override name = 'HttpError'
  readonly status: number
  readonly headers: Record<string, string>
  constructor(status: number, code: string, message: string, headers: Record<string, string> = {}) {
    super(code, message)
    this.status = status
    this.headers = headers
  }
}
