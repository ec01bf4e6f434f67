import { singleDatabase } from '../platform/database/pools/connection-pool.ts'
import type { Database } from '../platform/database/database.ts'
import { afterCommit, transact } from '../platform/database/transaction.ts'
import { createSqlTag, type SqlTag } from '../platform/database/sql.ts'
import { ACROSS_TENANTS, assertNoTenantTable } from '../platform/database/statements/statement.ts'
import { getField } from '../platform/fields.ts'
import { collectJobs, type Job } from '../platform/jobs/job-queue.ts'
import type { Logger } from '../platform/log.ts'
import type { Mailer } from '../platform/mail.ts'
import type { Secrets } from '../platform/security/secrets.ts'
import type { DeletedWorkspaces } from './deleted-workspaces.ts'
import type { Actor, Dependencies, ScopeOptions } from './dependencies.ts'
import { Scope } from './scope.ts'

/**
 * The scope of work that belongs to no single tenant: signing in, dispatching jobs, receiving a webhook. It is a separate
 * type so that no rule of a tenant can be given one.
 */
export class SystemScope {
  readonly db: Database
  readonly log: Logger
  readonly tracing: Dependencies['tracing']
  readonly secrets: Secrets
  readonly mail: Mailer
  readonly notifications: Dependencies['notifications']
  readonly portions: Dependencies['portions']
  readonly deletedWorkspaces: DeletedWorkspaces
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
    this.db = dependencies.connections.db
    this.log = dependencies.log
    this.tracing = dependencies.tracing
    this.secrets = dependencies.secrets
    this.mail = dependencies.mail
    this.notifications = dependencies.notifications
    this.portions = dependencies.portions
    this.deletedWorkspaces = dependencies.deletedWorkspaces
  }

  now(): Date {
    return this.#dependencies.clock.now()
  }

  cached<T>(key: string, ms: number, read: () => Promise<T>): Promise<T> {
    return this.#dependencies.cache.get(key, ms, read)
  }

  /** Returns the tag of a named statement, as that of a scope. It throws if the statement touches a tenant table. */
  sql<Row = unknown>(name: string): SqlTag<Row> {
    return createSqlTag(this.db, name, assertNoTenantTable)
  }

  /**
   * Returns the tag of a named statement that reads the tables of all tenants: to find those with work, which is then
   * done in the scope of each. On a distributed database it is executed by every node. Rows of deleted workspaces are left
   * out, for which nothing is done any more.
   */
  acrossTenants<Row = unknown>(name: string): SqlTag<Row> {
    const query = createSqlTag<Row>(this.db, `${name} ${ACROSS_TENANTS}`)
    return async (strings, ...values) => {
      const rows = await query(strings, ...values)
      return rows.filter((row) => !this.deletedWorkspaces.has(String(getField(row, 'tenantId'))))
    }
  }

  forTenant(
    tenantId: string,
    actor: Actor = { type: 'system', id: null, name: null },
    { audit, span }: Pick<ScopeOptions, 'audit' | 'span'> = {},
  ): Scope {
    return new Scope(this.#dependencies, tenantId, actor, { audit, span })
  }

  transaction<T>(work: (tx: SystemScope) => Promise<T>): Promise<T> {
    const jobs = collectJobs()
    const committed = transact(this.db, (db) =>
      work(new SystemScope({ ...this.#dependencies, connections: singleDatabase(db), jobs })),
    )
    return afterCommit(committed, () => this.#dependencies.jobs.enqueue(jobs.collected))
  }

  /** Wakes a worker. In a transaction, the jobs leave after its commit. */
  enqueue(...jobs: Job[]): void {
    this.#dependencies.jobs.enqueue(jobs)
  }
}
