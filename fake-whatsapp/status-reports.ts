import { setTimeout as delay } from 'node:timers/promises'
import type { CloudApiWebhooks, StatusName } from './webhooks.ts'

type StatusUpdate = { status: StatusName; errorCode?: number }
type Send = { wamid: string; callbackData: string | null }

/** Reports the statuses of accepted messages, in order and once unless set otherwise. */
export class StatusReports {
  /** Wait before each status. */
  delayMs = 0
  /** Share of messages whose statuses are reported in random order. */
  reorderedShare = 0
  /** Status codes, other than 200, of the responses. */
  readonly failedCallbacks: number[] = []
  readonly #webhooks: CloudApiWebhooks
  readonly #pending = new Set<Promise<void>>()
  #stopped = false

  constructor(webhooks: CloudApiWebhooks) {
    this.#webhooks = webhooks
  }

  /** Resolves when all statuses of a message have been reported; does nothing if no webhooks are received. */
  report(send: Send, updates: StatusUpdate[]): Promise<void> {
    if (this.#webhooks.callbackUrl === undefined || updates.length === 0) return Promise.resolve()
    const isReordered = this.reorderedShare > 0 && Math.random() < this.reorderedShare
    const report = this.#send(send, isReordered ? shuffle(updates) : updates).finally(() =>
      this.#pending.delete(report),
    )
    this.#pending.add(report)
    return report
  }

  /** Resolves when every status has been reported for the messages so far. */
  async waitUntilIdle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending)
  }

  stop(): void {
    this.#stopped = true
  }

  async #send({ wamid, callbackData }: Send, updates: StatusUpdate[]): Promise<void> {
    for (const update of updates) {
      if (this.delayMs > 0) await delay(this.delayMs)
      if (this.#stopped) return
      const responseStatus = await this.#webhooks.sendStatuses([{ wamid, callbackData, ...update }]).catch(() => 0)
      if (responseStatus !== 200) this.failedCallbacks.push(responseStatus)
    }
  }
}

function shuffle<T>(items: T[]): T[] {
  return items
    .map((item) => ({ item, rank: Math.random() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ item }) => item)
}
