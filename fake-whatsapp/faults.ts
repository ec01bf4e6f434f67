import type { CloudApiError } from './http.ts'

type Headers = Record<string, string>

/** A planned failure of a send. `hang`, `reset`, `contradict` and `undelivered` accept the message first. */
export type Fault =
  | { kind: 'reject' | 'contradict'; error: CloudApiError; headers: Headers }
  | { kind: 'answer'; status: number; body: string; headers: Headers }
  | { kind: 'undelivered'; errorCode: number }
  | { kind: 'hang' }
  | { kind: 'reset' }

/** Failures of a fake Cloud API, planned by request or by recipient. */
export class Faults {
  readonly #next: Fault[] = []
  readonly #byRecipient = new Map<string, Fault>()
  readonly #management: CloudApiError[] = []

  /** Rejects the next `count` sends with an error of the Cloud API. */
  rejectNext(code: number, { count = 1, status = 400, details = `Details of ${code}`, headers = {} } = {}): void {
    this.#plan(count, { kind: 'reject', error: { status, code, details }, headers })
  }

  /** Accepts the next `count` sends, but returns an error of the Cloud API. */
  contradictNext(code: number, { count = 1, status = 400 } = {}): void {
    const error = { status, code, details: `Details of ${code}` }
    this.#plan(count, { kind: 'contradict', error, headers: {} })
  }

  /** Responds to the next `count` sends as a proxy in front of the Cloud API may, without accepting them. */
  respondNext(status: number, body: string, { count = 1, headers = {} } = {}): void {
    this.#plan(count, { kind: 'answer', status, body, headers })
  }

  /** Accepts the next `count` sends; then either never responds, or resets the connection. */
  dropNextResponse(how: 'hang' | 'reset', { count = 1 } = {}): void {
    this.#plan(count, { kind: how })
  }

  /** Accepts the next `count` sends, and reports each as failed with this error code. */
  failNextDelivery(errorCode: number, { count = 1 } = {}): void {
    this.#plan(count, { kind: 'undelivered', errorCode })
  }

  /** Rejects the next `count` calls about templates and media with an error of the Cloud API. */
  rejectNextManagementCall(code: number, { count = 1, status = 400, details = `Details of ${code}` } = {}): void {
    this.#management.push(...Array<CloudApiError>(count).fill({ status, code, details }))
  }

  /** Rejects every send to a recipient with an error of the Cloud API, until `clearFaults`. */
  rejectRecipient(recipient: string, code: number, { status = 400, details = `Details of ${code}` } = {}): void {
    this.#byRecipient.set(recipient, { kind: 'reject', error: { status, code, details }, headers: {} })
  }

  /** Accepts every send to a recipient, and reports it as failed with this error code, until `clearFaults`. */
  failDeliveryTo(recipient: string, errorCode: number): void {
    this.#byRecipient.set(recipient, { kind: 'undelivered', errorCode })
  }

  /** Removes all planned failures. */
  clearFaults(): void {
    this.#next.length = 0
    this.#management.length = 0
    this.#byRecipient.clear()
  }

  protected takeFault(recipient: string): Fault | undefined {
    return this.#byRecipient.get(recipient) ?? this.#next.shift()
  }

  protected takeManagementError(): CloudApiError | undefined {
    return this.#management.shift()
  }

  #plan(count: number, fault: Fault): void {
    this.#next.push(...Array<Fault>(count).fill(fault))
  }
}
