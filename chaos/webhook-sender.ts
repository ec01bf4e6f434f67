import { setTimeout as delay } from 'node:timers/promises'
import type { Random } from './random.ts'

/** Posts one webhook and resolves with the response status; rejects if there is no response. */
export type SendWebhook = () => Promise<number>

const RETRY_DELAY_MS = { first: 100, longest: 3000 }

/** Delivers webhooks as Meta does: retries until the response is a 200, and sometimes delivers again after that. */
export class WebhookSender {
  requests = 0
  /** Number of requests by response status other than 200; 0 stands for no response. */
  readonly failedRequests = new Map<number, number>()
  /** Number of deliveries that were repeated on purpose. */
  duplicates = 0
  delivered = 0
  readonly #random: Random
  readonly #isReachable: () => boolean
  readonly #pending = new Set<Promise<void>>()
  #closed = false

  /** Sends nothing while `isReachable` returns false, to save processor time. */
  constructor(random: Random, isReachable: () => boolean) {
    this.#random = random
    this.#isReachable = isReachable
  }

  /** Resolves when the webhook was acknowledged; later duplicates of it may still be pending then. */
  async deliver(send: SendWebhook): Promise<void> {
    const concurrentDuplicates = this.#random.chance(0.1) ? 1 : 0
    await Promise.all(Array.from({ length: 1 + concurrentDuplicates }, () => this.#sendUntilAcknowledged(send)))
    this.duplicates += concurrentDuplicates
    this.delivered += 1
    if (this.#random.chance(0.2)) this.#scheduleDuplicates(send, this.#random.between(1, 3))
  }

  /** Resolves when no duplicates are pending. */
  async waitUntilIdle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending)
  }

  close(): void {
    this.#closed = true
  }

  #scheduleDuplicates(send: SendWebhook, count: number): void {
    const task = (async () => {
      for (let index = 0; index < count; index += 1) {
        await delay(this.#random.between(0, 1500))
        await this.#sendUntilAcknowledged(send)
        this.duplicates += 1
      }
    })().finally(() => this.#pending.delete(task))
    this.#pending.add(task)
  }

  async #sendUntilAcknowledged(send: SendWebhook): Promise<void> {
    for (let delayMs = RETRY_DELAY_MS.first; !this.#closed; delayMs = Math.min(delayMs * 2, RETRY_DELAY_MS.longest)) {
      while (!this.#isReachable() && !this.#closed) await delay(this.#random.between(50, 500))
      this.requests += 1
      const status = await send().catch(() => 0)
      if (status === 200) return
      this.failedRequests.set(status, (this.failedRequests.get(status) ?? 0) + 1)
      await delay(this.#random.between(delayMs / 2, delayMs))
    }
  }
}
