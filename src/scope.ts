import type { Model } from 'objection'
import type { TenantModel } from './models/tenant-model.ts'
import { type Database, DEADLOCK, sqlState } from './platform/database/database.ts'
import { NotFoundError } from './platform/errors.ts'
import { isUuid, newId } from './platform/ids.ts'
import type { Job, JobQueue } from './platform/jobs/job-queue.ts'
import type { Logger } from './platform/log.ts'
import type { Mailer } from './platform/mail.ts'
import type { ComputePool } from './platform/compute/compute-pool.ts'
import type { ComputeTask } from './platform/compute/compute-task.ts'
import type { Secrets } from './platform/security/secrets.ts'
import type { SingleFlight } from './platform/concurrency/single-flight.ts'
import type { Notifications } from './platform/notifications/notifications.ts'
import type { Clock } from './platform/time.ts'

export type Role = 'owner' | 'admin' | 'agent' | 'viewer'

/** On whose behalf a rule runs; it becomes the sender of a message and the starter of a run. */
export type Actor =
  | { type: 'user'; id: string; name: string; role: Role }
  | { type: 'run'; id: string; name: null }
  | { type: 'system'; id: null; name: null }

/** Something worth telling the outside. `data` holds ids only; readers look the rows up. */
export type Event = { type: `${string}.${string}`; data: Record<string, string | null> }

/** The long-lived parts every scope is made of. */
export type Dependencies = {
  db: Database
  clock: Clock
  log: Logger
  jobs: JobQueue
  signals: Notifications
  reads: SingleFlight
  secrets: Secrets
  mail: Mailer
  computePool: ComputePool
  /** Whether what customers name, such as a channel's provider, may be on this very machine. */
  allowsLoopback: boolean
}

type ModelOf<M extends TenantModel> = { new (): M } & typeof TenantModel

/** Of a transaction that ended in a deadlock. */
const ATTEMPTS_MAX = 3

/** What a rule may touch: one tenant, one actor, one clock, one connection. */
export class Scope {
  readonly tenantId: string
  readonly actor: Actor
  readonly log: Logger
  readonly secrets: Secrets
  readonly allowsLoopback: boolean
  /** For statements the query builder cannot say. Each must name `tenantId` itself. */
  readonly db: Database
  readonly #parts: Dependencies
  /** What a transaction has recorded so far; undefined outside of one. */
  readonly #recorded: Event[] | undefined

  constructor(parts: Dependencies, tenantId: string, actor: Actor, recorded?: Event[]) {
    this.#parts = parts
    this.#recorded = recorded
    this.tenantId = tenantId
    this.actor = actor
    this.db = parts.db
    this.log = parts.log
    this.secrets = parts.secrets
    this.allowsLoopback = parts.allowsLoopback
  }

  now(): Date {
    return this.#parts.clock.now()
  }

  query<M extends TenantModel>(model: ModelOf<M>) {
    return (model as unknown as typeof TenantModel)
      .query(this.db)
      .context({ tenantId: this.tenantId }) as M['QueryBuilderType']
  }

  /** A malformed id, a missing row and another tenant's row are the same to the caller: absent. */
  async find<M extends TenantModel & { id: string }>(model: ModelOf<M>, id: string): Promise<M | undefined> {
    if (!isUuid(id)) return undefined
    const row: Model | undefined = await this.query<M>(model).findOne('id', id)
    return row as M | undefined
  }

  /** @throws NotFoundError */
  async get<M extends TenantModel & { id: string }>(model: ModelOf<M>, id: string): Promise<M> {
    const row = await this.find<M>(model, id)
    if (!row) throw new NotFoundError(model.name)
    return row
  }

  /**
   * Locks the row until the transaction ends.
   * @throws NotFoundError
   */
  async lock<M extends TenantModel & { id: string }>(model: ModelOf<M>, id: string): Promise<M> {
    const row: Model | undefined = isUuid(id) ? await this.query<M>(model).findOne('id', id).forUpdate() : undefined
    if (!row) throw new NotFoundError(model.name)
    return row as M
  }

  /**
   * A transaction is a scope: what is done through it commits together, bells and events included. The database may end
   * one that stands in another's way, and it is then done anew: `work` does nothing that could not be done twice.
   */
  async transaction<T>(work: (tx: Scope) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#transact(work)
      } catch (error) {
        const mayRepeat = !this.#recorded && attempt < ATTEMPTS_MAX && sqlState(error) === DEADLOCK
        if (!mayRepeat) throw error
      }
    }
  }

  async #transact<T>(work: (tx: Scope) => Promise<T>): Promise<T> {
    const recorded: Event[] = []
    const result = await this.db.transaction(async (db) => {
      const tx = new Scope({ ...this.#parts, db }, this.tenantId, this.actor, recorded)
      const worked = await work(tx)
      if (!this.#recorded) await tx.#writeEvents(recorded)
      return worked
    })
    // Inside an outer transaction the outermost one writes and announces.
    if (this.#recorded) this.#recorded.push(...recorded)
    else if (recorded.length > 0) this.#parts.signals.publish(this.tenantId)
    return result
  }

  enqueue(...bells: Job[]): Promise<void> {
    return this.#parts.jobs.enqueue(this.db, bells)
  }

  /** Calls `wake` when this tenant may have new events. Returns the function that ends it. */
  subscribe(wake: () => void): () => void {
    return this.#parts.signals.subscribe(this.tenantId, wake)
  }

  /** `read` as it is now, done once for all who ask for the same `key` meanwhile. Not for transactions. */
  singleFlight<T>(key: string, read: () => Promise<T>): Promise<T> {
    return this.#parts.reads.do(`${this.tenantId} ${key}`, read) as Promise<T>
  }

  /**
   * Executes a task on a compute thread. Not in a transaction, which would hold its locks until a thread is free.
   * @throws BudgetExceededError, UnavailableError
   */
  compute<Input, Output>(task: ComputeTask<Input, Output>, input: Input): Promise<Output> {
    return this.#parts.computePool.run(task, input, { key: this.tenantId })
  }

  /** In a transaction, events are written when all else is done, in one statement. */
  async record(...events: Event[]): Promise<void> {
    if (this.#recorded) return void this.#recorded.push(...events)
    if (events.length === 0) return
    await this.#writeEvents(events)
    this.#parts.signals.publish(this.tenantId)
  }

  async #writeEvents(events: Event[]): Promise<void> {
    if (events.length === 0) return
    const rows = events.map(({ type, data }) => ({ id: newId(), type, data }))
    await this.db.raw(
      `insert into events (tenant_id, id, type, data, created_at)
       select ?::uuid, id, type, data, ?::timestamptz from jsonb_to_recordset(?::jsonb) as x (id uuid, type text, data jsonb)`,
      [this.tenantId, this.now(), JSON.stringify(rows)],
    )
  }
}

/**
 * Work that belongs to no single tenant: signing in, sweeping, receiving a webhook. A type of its own, so that no rule
 * of a tenant can come by it.
 */
export class SystemScope {
  readonly db: Database
  readonly log: Logger
  readonly secrets: Secrets
  readonly mail: Mailer
  readonly #parts: Dependencies

  constructor(parts: Dependencies) {
    this.#parts = parts
    this.db = parts.db
    this.log = parts.log
    this.secrets = parts.secrets
    this.mail = parts.mail
  }

  now(): Date {
    return this.#parts.clock.now()
  }

  forTenant(tenantId: string, actor: Actor = { type: 'system', id: null, name: null }): Scope {
    return new Scope(this.#parts, tenantId, actor)
  }

  transaction<T>(work: (tx: SystemScope) => Promise<T>): Promise<T> {
    return this.db.transaction((db) => work(new SystemScope({ ...this.#parts, db })))
  }

  enqueue(...bells: Job[]): Promise<void> {
    return this.#parts.jobs.enqueue(this.db, bells)
  }

  /** Tells followers of these tenants that a committed transaction left events for them. */
  publish(tenantIds: Iterable<string>): void {
    for (const tenantId of tenantIds) this.#parts.signals.publish(tenantId)
  }
}
