import type { Clock } from '../src/platform/time.ts'
import type { CloudApiError } from './http.ts'

/** Messages that one recipient gets at once before the pair limit applies. */
const PAIR_BURST = 45
const RECIPIENTS_MAX = 200_000

/** Limits sends as the Cloud API does: per number and second, and per recipient. Without a setting nothing is limited. */
export class Throttle {
  /** Accepted sends per second of the number. */
  perSecond: number | undefined
  /** Seconds between messages to one recipient, after a burst that is borrowed from the future. */
  pairSeconds: number | undefined
  readonly #clock: Clock
  readonly #paidUntilMs = new Map<string, number>()
  #second = 0
  #sends = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts a send to a recipient; returns the error if it exceeds a limit. */
  take(recipient: string): CloudApiError | undefined {
    const nowMs = this.#clock.now().getTime()
    if (this.pairSeconds !== undefined && this.#paidMs(recipient, nowMs) > nowMs + PAIR_BURST * this.pairSeconds * 1000)
      return { status: 400, code: 131056, details: 'Too many messages from this number to the same recipient' }
    if (!this.#takeSecond(Math.floor(nowMs / 1000)))
      return { status: 429, code: 130429, details: 'Cloud API message throughput has been reached' }
    if (this.pairSeconds !== undefined) {
      if (this.#paidUntilMs.size > RECIPIENTS_MAX) this.#paidUntilMs.clear()
      this.#paidUntilMs.set(recipient, this.#paidMs(recipient, nowMs) + this.pairSeconds * 1000)
    }
    return undefined
  }

  #paidMs(recipient: string, nowMs: number): number {
    return Math.max(nowMs, this.#paidUntilMs.get(recipient) ?? 0)
  }

  #takeSecond(second: number): boolean {
    if (this.perSecond === undefined) return true
    if (second !== this.#second) [this.#second, this.#sends] = [second, 0]
    this.#sends += 1
    return this.#sends <= this.perSecond
  }
}
