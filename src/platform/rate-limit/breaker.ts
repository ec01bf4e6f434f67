import { withinTime } from '../concurrency/deadline.ts'
import { SECOND, type Clock } from '../time.ts'

const FAILURES_MAX = 3
const OPEN_MS = 5 * SECOND

/**
 * A circuit breaker that keeps an unresponsive store from slowing every request: each call waits for a bounded time, and
 * after three failures in a row the store is not called for five seconds.
 */
export class Breaker {
  readonly #clock: Clock
  readonly #timeoutMs: number
  #failures = 0
  #openUntil = 0

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  async run<T>(operation: () => Promise<T>): Promise<T> {
    if (this.#clock.now().getTime() < this.#openUntil) throw new Error('the circuit breaker of the store is open')
    try {
      const result = await withinTime(this.#timeoutMs, operation())
      this.#failures = 0
      return result
    } catch (error) {
      this.#fail()
      throw error
    }
  }

  #fail(): void {
    this.#failures += 1
    if (this.#failures < FAILURES_MAX) return
    this.#failures = 0
    this.#openUntil = this.#clock.now().getTime() + OPEN_MS
  }
}
