import type { TenantModel, TenantModelClass } from '../models/tenant-model.ts'
import { singleDatabase } from '../platform/database/pools/connection-pool.ts'
import { type Database, isLostRace } from '../platform/database/database.ts'
import { SharedTransactionError } from '../platform/database/pools/shared-transactions.ts'
import { afterCommit, leaveToCommit, transact } from '../platform/database/transaction.ts'
import { createSqlTag, type SqlOptions, type SqlTag } from '../platform/database/sql.ts'
import { writeEvents } from '../platform/database/write-events.ts'
import { assertNamesTenant, sqlText } from '../platform/database/statements/statement.ts'
import type { FileStore } from '../platform/files/file-store.ts'
import { NotFoundError } from '../platform/errors.ts'
import { isUuid } from '../platform/ids.ts'
import { collectJobs, type Job } from '../platform/jobs/job-queue.ts'
import type { Logger } from '../platform/log.ts'
import type { ComputeTask } from '../platform/compute/compute-task.ts'
import type { Secrets } from '../platform/security/secrets.ts'
import { retry } from '../platform/concurrency/retry.ts'
import type { FindSpan, Span } from '../platform/tracing/span.ts'
import type { Tracing } from '../platform/tracing/tracing.ts'
import type { AuditEntry } from './audit-entry.ts'
import { isOpenSql } from './deleted-workspaces.ts'
import {
  type Actor,
  type Dependencies,
  type Ending,
  type ScopeOptions,
  toSender,
  type TransactionOptions,
} from './dependencies.ts'
import type { Event } from './event-types.ts'

/** Everything a business rule may use: one tenant, one actor, one clock, one connection. */
export class Scope {
  readonly tenantId: string
  readonly actor: Actor
  readonly secrets: Secrets
  readonly allowsLoopback: boolean
  readonly files: FileStore
  readonly uploads: Dependencies['uploads']
  readonly portions: Dependencies['portions']
  /** The audit event of the call; undefined for calls that are not audited. */
  readonly audit: AuditEntry | undefined
  readonly #db: Database
  readonly #dependencies: Dependencies
  readonly #ending: Ending | undefined
  readonly #span: Span | undefined
  readonly #findSpan: FindSpan | undefined
  #log: Logger | undefined

  constructor(
    dependencies: Dependencies,
    tenantId: string,
    actor: Actor,
    { signal, ending, audit, span, findSpan }: ScopeOptions = {},
  ) {
    this.#dependencies = dependencies
    this.#ending = ending
    this.#span = span
    this.#findSpan = findSpan
    this.tenantId = tenantId
    this.actor = actor
    this.#db = dependencies.connections.forWork({ workspaceId: tenantId, signal })
    this.secrets = dependencies.secrets
    this.allowsLoopback = dependencies.allowsLoopback
    this.files = dependencies.files
    this.uploads = dependencies.uploads
    this.portions = dependencies.portions
    this.audit = audit
  }

  /** Writes lines that name the workspace. */
  get log(): Logger {
    const { tenantId } = this
    return (this.#log ??= this.#dependencies.log.child(
      this.#span ? { tenantId, traceId: this.#span.traceId } : { tenantId },
    ))
  }

  /** Opens spans of work that other processes handed over; undefined if no traces are exported. */
  get tracing(): Tracing | undefined {
    return this.#dependencies.tracing
  }

  /** Returns the column of a new row under which the work for it continues the present trace, if there is one. */
  traceColumn(mailboxId: string): { traceparent?: string } {
    const span = this.#findSpan ? this.#findSpan(mailboxId) : this.#span
    const traceparent = span?.traceparent
    return traceparent === undefined ? {} : { traceparent }
  }

  now(): Date {
    return this.#dependencies.clock.now()
  }

  query<M extends TenantModel>(model: TenantModelClass<M>): M['QueryBuilderType'] {
    return model.query(this.#db).context({ tenantId: this.tenantId })
  }

  /**
   * Returns the tag of a named statement, which binds the values in the template and composes fragments. Each reference to
   * a tenant table needs a condition `alias.tenant_id = ${scope.tenantId}`, each inserted row the same as its `tenant_id`.
   * @throws Error if the statement may reach the rows of other tenants
   */
  sql<Row = unknown>(name: string, options?: SqlOptions): SqlTag<Row> {
    return createSqlTag(this.#db, name, (statement) => assertNamesTenant(statement, this.tenantId), options)
  }

  /** Returns undefined for a malformed id, a missing row and a row of another tenant alike. */
  async find<M extends TenantModel & { id: string }>(model: TenantModelClass<M>, id: string): Promise<M | undefined> {
    if (!isUuid(id)) return undefined
    const row: TenantModel | undefined = await this.query<M>(model).findOne('id', id)
    return row instanceof model ? row : undefined
  }

  /** @throws NotFoundError */
  async get<M extends TenantModel & { id: string }>(model: TenantModelClass<M>, id: string): Promise<M> {
    const row = await this.find<M>(model, id)
    if (!row) throw new NotFoundError(model.name)
    return row
  }

  /**
   * Returns the columns of a row, unless the workspace was deleted: rows may be left of which nothing is to be done any more.
   * @throws NotFoundError
   */
  async getOpen<M extends TenantModel & { id: string }>(
    model: TenantModelClass<M>,
    id: string,
  ): Promise<Omit<M, keyof TenantModel>> {
    const [row] = isUuid(id)
      ? await this.sql<M>(`getOpen ${model.name}`)`
        select t.* from ${sqlText(model.tableName)} t
        where t.tenant_id = ${this.tenantId} and t.id = ${id} and ${isOpenSql(this.tenantId)}`
      : []
    if (!row) throw new NotFoundError(model.name)
    return row
  }

  /** Locks the row until the transaction ends. @throws NotFoundError */
  async lock<M extends TenantModel & { id: string }>(model: TenantModelClass<M>, id: string): Promise<M> {
    if (!isUuid(id)) throw new NotFoundError(model.name)
    const row: TenantModel | undefined = await this.query<M>(model).findOne('id', id).forUpdate()
    if (!(row instanceof model)) throw new NotFoundError(model.name)
    return row
  }

  /**
   * Runs `work` in a transaction. A transaction is a scope: everything done through it commits together, jobs and events
   * included. After a deadlock or a serialization failure, or if a row that it refers to was deleted meanwhile, the
   * transaction is repeated, so `work` must have no effects outside of it.
   */
  transaction<T>(work: (tx: Scope) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    // An inner transaction is not repeated alone: a deadlock has rolled the outermost one back, which read what was deleted.
    const isRetryable = (error: unknown) => !this.#ending && isLostRace(error)
    // Within the delay, the other one takes the lock that was given up.
    return retry(() => this.#transact(work, options), { isRetryable, attemptsMax: 3, delayMs: 20 })
  }

  async #transact<T>(work: (tx: Scope) => Promise<T>, options: TransactionOptions): Promise<T> {
    const { lockTimeoutMs, size, findSpan = this.#findSpan } = options
    if (this.#ending?.isShared) throw new SharedTransactionError('A shared transaction has no inner ones')
    let announce = () => {}
    const run = async (db: Database, isShared: boolean) => {
      if (!this.#ending) this.audit?.begin()
      if (lockTimeoutMs !== undefined) await db.raw(`set local lock_timeout = ${lockTimeoutMs}`)
      const ending: Ending = { events: [], outdatedKeys: [], isShared }
      const jobs = collectJobs()
      const dependencies = { ...this.#dependencies, connections: singleDatabase(db), jobs }
      const scopeOptions = { ending, audit: this.audit, span: this.#span, findSpan }
      const tx = new Scope(dependencies, this.tenantId, this.actor, scopeOptions)
      const result = await work(tx)
      const stored = leaveToCommit(this.#writeRecords(db, ending, result))
      announce = () => this.#announce(ending, jobs.collected)
      // The commit of a shared one does not follow at once.
      if (isShared) await stored
      return result
    }
    const isSmall = size !== undefined && lockTimeoutMs === undefined
    const shared = isSmall ? this.#dependencies.connections.findSharedTransactions?.(this.tenantId) : undefined
    const committed =
      isSmall && shared ? shared.run(this.tenantId, size, run) : transact(this.#db, (db) => run(db, false))
    return afterCommit(committed, () => announce(), { isInner: this.#ending !== undefined })
  }

  /** Writes events and the audit event. Those of an inner transaction are written by the outermost one. */
  #writeRecords(db: Database, { events }: Ending, result: unknown): Promise<unknown> {
    this.audit?.addCreated(result)
    if (this.#ending) return Promise.resolve()
    const origin = { tenantId: this.tenantId, actor: toSender(this.actor), now: this.now() }
    return Promise.all([writeEvents(db, origin, events), this.audit?.write(db, origin)])
  }

  #announce({ events, outdatedKeys }: Ending, jobs: Job[]): void {
    this.#dependencies.jobs.enqueue(jobs)
    if (this.#ending) {
      this.#ending.events.push(...events)
      this.#ending.outdatedKeys.push(...outdatedKeys)
    } else {
      this.audit?.keep()
      for (const key of outdatedKeys) this.#dependencies.cache.delete(key)
      if (events.length > 0) this.#dependencies.notifications.publish('events', this.tenantId)
    }
  }

  /** Wakes a worker. In a transaction, the jobs leave after its commit. */
  enqueue(...jobs: Job[]): void {
    this.#dependencies.jobs.enqueue(jobs)
  }

  /** Calls `wake` when this tenant may have new events. Returns the function that unsubscribes. */
  subscribe(wake: () => void): () => void {
    return this.#dependencies.notifications.subscribe('events', wake, { text: this.tenantId })
  }

  /** Runs `read` once for all concurrent callers with the same `key`. Not for transactions. */
  singleFlight<T>(key: string, read: () => Promise<T>): Promise<T> {
    return this.#dependencies.singleFlight.do(`${this.tenantId} ${key}`, read) as Promise<T>
  }

  /** Returns the object of a key that all scopes of the tenant in this process share until it calls `release`. */
  share<T extends object>(key: string, create: (release: () => void) => T): T {
    return this.#dependencies.shared.get(`${this.tenantId} ${key}`, create) as T
  }

  /** Returns what `read` returned at most `ms` ago in this process, unless `forget` was called. Not for transactions. */
  cached<T>(key: string, ms: number, read: () => Promise<T>): Promise<T> {
    return this.#dependencies.cache.get(`${this.tenantId} ${key}`, ms, read)
  }

  /** Removes a cached result, in a transaction after its commit. */
  forget(key: string): void {
    const tenantKey = `${this.tenantId} ${key}`
    if (this.#ending) this.#ending.outdatedKeys.push(tenantKey)
    else this.#dependencies.cache.delete(tenantKey)
  }

  /**
   * Executes a task on a compute thread. Not in a transaction, which would keep its connection until a thread is free.
   * @throws BudgetExceededError, UnavailableError
   */
  async compute<Input, Output>(task: ComputeTask<Input, Output>, input: Input): Promise<Output> {
    if (this.#ending) throw new Error(`The task ${task.name} must be executed before the transaction`)
    return this.#dependencies.computePool.run(task, input, this)
  }

  /** Records events. In a transaction they are written at its end, in one statement. */
  async record(...events: Event[]): Promise<void> {
    if (this.#ending) return void this.#ending.events.push(...events)
    if (events.length === 0) return
    await writeEvents(this.#db, { tenantId: this.tenantId, now: this.now() }, events)
    this.#dependencies.notifications.publish('events', this.tenantId)
  }
}
