import { setTimeout as delay } from 'node:timers/promises'
import { SECOND } from '../../src/platform/time.ts'
import type { Owner } from './deployment.ts'

const WRITERS = 4
const PAUSE_MS = 100
const REQUEST_MAX_MS = 30 * SECOND

/** Customers who write new messages to several servers all the time, each from a phone number of its own. */
export class Traffic {
  /** IDs of the messages that were acknowledged. */
  readonly acknowledged: string[] = []
  /** Requests that were not acknowledged. */
  readonly failures: string[] = []
  /** The statuses of `/readyz`, one for each change. */
  readonly readiness: number[] = []
  readonly #urls: string[]
  readonly #owner: Owner
  readonly #successes: number[] = []
  #running: Promise<unknown> | undefined
  #isStopping = false
  #nextPhone = 0

  constructor(urls: string[], owner: Owner) {
    this.#urls = urls
    this.#owner = owner
  }

  get lastSuccessAt(): number {
    return this.#successes.at(-1) ?? 0
  }

  start(): void {
    const writers = Array.from({ length: WRITERS }, (_, index) => this.#write(index))
    this.#running = Promise.all([...writers, this.#watch()])
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#running
  }

  /** The longest time in which no request was acknowledged. */
  longestGapMs(): number {
    return Math.max(...this.#successes.map((at, index) => at - (this.#successes[index - 1] ?? at)))
  }

  async #write(index: number): Promise<void> {
    const url = this.#urls[index % this.#urls.length] ?? ''
    while (!this.#isStopping) {
      this.#nextPhone += 1
      const phone = `+49170${String(1_000_000 + this.#nextPhone)}`
      try {
        const { id } = await this.#owner.send(url, phone, AbortSignal.timeout(REQUEST_MAX_MS))
        this.acknowledged.push(id)
        this.#successes.push(performance.now())
      } catch (error) {
        this.failures.push(String(error))
      }
      await delay(PAUSE_MS)
    }
  }

  async #watch(): Promise<void> {
    while (!this.#isStopping) {
      const url = `${this.#urls[0]}/readyz`
      const status = await fetch(url, { signal: AbortSignal.timeout(REQUEST_MAX_MS) }).then(
        (response) => response.status,
        () => 0,
      )
      if (this.readiness.at(-1) !== status) this.readiness.push(status)
      await delay(PAUSE_MS)
    }
  }
}
