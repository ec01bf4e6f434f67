import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import { createSqlTag, toRecordset } from '../database/sql.ts'
import { assertNoTenantTable } from '../database/statements/statement.ts'
import type { Logger } from '../log.ts'
import type { Notifications } from '../notifications/notifications.ts'
import type { Job } from './job-queue.ts'

/** Time between two statements: what is enqueued meanwhile is stored together. */
const PAUSE_MS = 20
/** Jobs that may wait for a statement, such as while the database is away. */
const WAITING_MAX = 50_000
const BATCH_MAX = 2_000

type Options = { db: Database; notifications: Pick<Notifications, 'publish'>; log: Logger }

/**
 * Stores jobs for the workers of all processes as rows of `wakeups`, at most one of each key: the first one at once, those
 * that follow within 20 ms together. The table is unlogged, so its commits wait for no disk. Workers are notified of new
 * rows only: a row that exists is claimed later than the commit that this job follows, so its worker finds what is due.
 */
export class WakeupSender {
  readonly #options: Options
  /** By task, workspace and key. */
  readonly #waiting = new Map<string, Job>()
  #sending: Promise<void> | undefined
  #sentAtMs = -Infinity
  #isFull = false
  #isFailing = false

  constructor(options: Options) {
    this.#options = options
  }

  /** True if all jobs that were added are stored. */
  get isIdle(): boolean {
    return this.#sending === undefined
  }

  add(jobs: readonly Job[]): void {
    for (const job of jobs) {
      const name = `${job.task} ${job.tenantId} ${job.key}`
      if (this.#waiting.size < WAITING_MAX || this.#waiting.has(name)) this.#waiting.set(name, job)
      else this.#reportFull()
    }
    if (this.#waiting.size > 0) this.#sending ??= this.#send()
  }

  /** Resolves when all jobs are stored, or have failed to be. */
  async flush(): Promise<void> {
    await this.#sending
  }

  #reportFull(): void {
    if (!this.#isFull)
      this.#options.log.warn(
        { event: 'jobs_not_stored', max: WAITING_MAX },
        'too many jobs wait to be stored; what is due will be found',
      )
    this.#isFull = true
  }

  async #send(): Promise<void> {
    while (this.#waiting.size > 0) {
      const pauseMs = this.#sentAtMs + PAUSE_MS - performance.now()
      // What one turn of the event loop enqueues is stored together, too.
      await (pauseMs > 0 ? delay(pauseMs) : nextTurn())
      this.#sentAtMs = performance.now()
      await this.#storeNext()
    }
    this.#sending = undefined
  }

  async #storeNext(): Promise<void> {
    const { db, notifications, log } = this.#options
    const batch = [...this.#waiting].slice(0, BATCH_MAX)
    for (const [name] of batch) this.#waiting.delete(name)
    this.#isFull = false
    // Statements of two processes that insert the same keys wait for each other, so each does it in one order.
    const rows = batch.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, job]) => job)
    try {
      const stored = await createSqlTag<{ task: string }>(db, 'storeWakeups', assertNoTenantTable)`
        insert into wakeups (task, tenant_id, key)
        select task, tenant_id, key from jsonb_to_recordset(${toRecordset(rows)}::jsonb) as x (task text, tenant_id uuid, key text)
        on conflict do nothing returning task`
      this.#isFailing = false
      for (const task of new Set(stored.map((row) => row.task))) notifications.publish('jobs', task)
    } catch (error) {
      // While the database is away, every statement fails alike.
      if (!this.#isFailing)
        log.warn(
          { event: 'jobs_not_stored', err: error, jobs: rows.length },
          'jobs could not be stored; what is due will be found',
        )
      this.#isFailing = true
    }
  }
}
