import { setTimeout as delay } from 'node:timers/promises'
import { withClient } from '../../src/platform/embedded-postgres/connection.ts'
import { SECOND } from '../../src/platform/time.ts'
import type { Owner } from './deployment.ts'
import { waitUntil } from './wait-until.ts'

const WRITERS = 4
const PAUSE_MS = 100
const REQUEST_MAX_MS = 30 * SECOND

const UNFINISHED = `select from mailbox_items union all select from outbox union all
  select from messages where direction = 'outbound' and status = 'queued'`
const COUNT_ANSWERS = `select i.id, count(o.id)::int as answers from messages i
  left join messages o on o.tenant_id = i.tenant_id and o.conversation_id = i.conversation_id
    and o.direction = 'outbound'
  where i.direction = 'inbound' group by i.tenant_id, i.id`

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
  #nextPhone: number
  readonly #pauseMs: number

  constructor(
    urls: string[],
    owner: Owner,
    { firstPhone = 0, pauseMs = PAUSE_MS }: { firstPhone?: number; pauseMs?: number } = {},
  ) {
    this.#urls = urls
    this.#owner = owner
    this.#nextPhone = firstPhone
    this.#pauseMs = pauseMs
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

  /** Waits until no work is left, and compares what the database contains with what was acknowledged. */
  async findProblems(databaseUrl: string): Promise<{ lost: string[]; notAnsweredOnce: string[] }> {
    return withClient(databaseUrl, async (client) => {
      await waitUntil(async () => (await client.query(UNFINISHED)).rows.length === 0)
      const { rows } = await client.query<{ id: string; answers: number }>(COUNT_ANSWERS)
      const stored = new Set(rows.map(({ id }) => id))
      return {
        lost: this.acknowledged.filter((id) => !stored.has(id)),
        notAnsweredOnce: rows.flatMap(({ id, answers }) => (answers === 1 ? [] : [id])),
      }
    })
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
      await delay(this.#pauseMs)
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
