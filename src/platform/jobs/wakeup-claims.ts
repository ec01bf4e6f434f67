import type { Database } from '../database/database.ts'
import { createSqlTag, toRecordset } from '../database/sql.ts'
import type { Logger } from '../log.ts'
import type { Notifications } from '../notifications/notifications.ts'
import { SECOND } from '../time.ts'
import type { JobExecutor } from './job-executor.ts'
import type { Job } from './job-queue.ts'

/** Longest time until a row is found whose notification was lost. */
const POLL_MS = 2 * SECOND
/** Polls are spread over the last quarter of that time, so that those of several workers drift apart. */
const JITTER = 1 / 4
/** Polls without a successful claim after which the process is not ready: 9 seconds. */
const STUCK_POLLS = 4.5
/** Those after which only another process can help: a minute. */
const LOST_POLLS = 30
/** Before all workspaces. */
const FIRST = '00000000-0000-0000-0000-000000000000'

type Options = {
  db: Database
  notifications: Pick<Notifications, 'subscribe'>
  log: Logger
  /** Those of the tasks that this process knows. */
  executors: ReadonlyMap<string, JobExecutor>
  /** Gets what was claimed while the process began to stop. */
  leave: (jobs: Job[]) => void
  /** Called once, when no claim has succeeded for a minute although the database answers. */
  onStuck: () => void
  pollMs: number | undefined
}

/** A claim for a task: of workspaces and keys that have room here, from the workspace behind the last one. */
type Request = { task: string; places: number; previous: string; fullTenantIds: string[]; fullKeys: string[] }

/**
 * Claims rows of `wakeups` for the executors of this process, as many as they have free places, by deleting them. A row
 * that is claimed by a process that ends is lost: what is due is found by periodic tasks. A claim follows a notification,
 * a place that becomes free while rows may wait, or 2 seconds without either.
 */
export class WakeupClaims {
  readonly #options: Options
  /** Tasks that may have rows, with the workspaces that were last in turn. */
  readonly #turns = new Map<string, string>()
  readonly #pollMs: number
  /** Those of them whose rows are of workspaces or keys without room here, until a place becomes free. */
  readonly #blocked = new Set<string>()
  /** Tasks whose rows may be newer than the claim in progress. */
  readonly #notified = new Set<string>()
  /** Tasks with places that became free during the claim in progress. */
  readonly #freed = new Set<string>()
  #claiming: Promise<void> | undefined
  #isWoken = false
  #isStopped = false
  #timer: NodeJS.Timeout | undefined
  #unsubscribe: () => void = () => undefined
  #claimedAtMs = performance.now()
  #stuckMs = 0
  #isReported = false

  constructor(options: Options) {
    this.#options = options
    this.#pollMs = options.pollMs ?? POLL_MS
  }

  /** True while no claim succeeds although the database answers. */
  get isStuck(): boolean {
    return this.#stuckMs >= STUCK_POLLS * this.#pollMs
  }

  /** True while no claim is in progress. */
  get isIdle(): boolean {
    return this.#claiming === undefined
  }

  start(): void {
    this.#unsubscribe = this.#options.notifications.subscribe('jobs', (task) => this.#wake(task))
    this.#claimedAtMs = performance.now()
    this.#wake()
  }

  /** Claims no more, and resolves when what was claimed meanwhile is left to others. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#unsubscribe()
    clearTimeout(this.#timer)
    await this.#claiming
  }

  /** Has to be called when an executor has a free place. */
  onFree(task: string): void {
    this.#freed.add(task)
    this.#blocked.delete(task)
    if (this.#turns.has(task)) this.#claim()
  }

  /** Rows of a task, or of all, may wait. */
  #wake(task?: string): void {
    const { executors } = this.#options
    for (const name of task === undefined ? executors.keys() : [task]) {
      if (!executors.has(name)) continue
      this.#notified.add(name)
      this.#blocked.delete(name)
      if (!this.#turns.has(name)) this.#turns.set(name, FIRST)
    }
    this.#claim()
  }

  #claim(): void {
    this.#isWoken = true
    if (!this.#isStopped) this.#claiming ??= this.#claimAll()
  }

  async #claimAll(): Promise<void> {
    clearTimeout(this.#timer)
    while (this.#isWoken && !this.#isStopped) {
      this.#isWoken = false
      try {
        await this.#claimRound()
        this.#recordClaim()
      } catch (error) {
        this.#options.log.warn({ err: error }, 'jobs could not be claimed')
        await this.#recordFailure()
      }
    }
    this.#claiming = undefined
    if (this.#isStopped) return
    this.#timer = setTimeout(() => this.#wake(), this.#pollMs * (1 - JITTER * Math.random()))
    this.#timer.unref()
  }

  /** Claims until no rows are left for the free places. */
  async #claimRound(): Promise<void> {
    while (!this.#isStopped) {
      const tasks = [...this.#turns.keys()].filter((task) => !this.#blocked.has(task))
      const requests = tasks.map((task) => this.#toRequest(task)).filter(({ places }) => places > 0)
      if (requests.length === 0) return
      this.#notified.clear()
      this.#freed.clear()
      const jobs = await claimWakeups(this.#options.db, requests)
      for (const request of requests) {
        const last = jobs.findLast(({ task }) => task === request.task)
        if (last) this.#turns.set(request.task, last.tenantId)
        else this.#forget(request)
      }
      this.#accept(jobs)
    }
  }

  #toRequest(task: string): Request {
    const executor = this.#options.executors.get(task)
    const { tenantIds = [], keys = [] } = executor?.listFull() ?? {}
    const previous = this.#turns.get(task) ?? FIRST
    return { task, places: executor?.free ?? 0, previous, fullTenantIds: tenantIds, fullKeys: keys }
  }

  /** No rows were found for a task. It is claimed again after a notification, or if it may have others and a place is freed. */
  #forget({ task, fullTenantIds, fullKeys }: Request): void {
    const mayHaveMore = fullTenantIds.length > 0 || fullKeys.length > 0
    if (this.#notified.has(task) || (mayHaveMore && this.#freed.has(task))) return
    if (mayHaveMore) this.#blocked.add(task)
    else this.#turns.delete(task)
  }

  #accept(jobs: Job[]): void {
    if (this.#isStopped) return this.#options.leave(jobs)
    for (const job of jobs) this.#options.executors.get(job.task)?.add(job)
  }

  #recordClaim(): void {
    this.#claimedAtMs = performance.now()
    this.#stuckMs = 0
  }

  /** The time in which the database does not answer is not counted. */
  async #recordFailure(): Promise<void> {
    try {
      await this.#options.db.raw('select 1')
      this.#stuckMs = performance.now() - this.#claimedAtMs
    } catch {
      return this.#recordClaim()
    }
    if (this.#stuckMs < LOST_POLLS * this.#pollMs || this.#isReported) return
    this.#isReported = true
    this.#options.onStuck()
  }
}

/**
 * Claims the oldest rows of the workspaces that are next in turn, the same number of each, and returns them in the order of
 * the turns. Workspaces are found by one lookup in the index for each, however many rows they have. Rows that another
 * process is claiming are left out.
 */
function claimWakeups(db: Database, requests: Request[]): Promise<Job[]> {
  return createSqlTag<Job>(db, 'claimWakeups')`
    with recursive request as (
      select * from jsonb_to_recordset(${toRecordset(requests)}::jsonb)
        as x (task text, places int, previous uuid, full_tenant_ids uuid[], full_keys text[])),
    workspace as (
      select r.task, is_wrapped, w.tenant_id, 1 as number
      from request r cross join unnest(array[false, true]) is_wrapped, lateral (
        select tenant_id from wakeups w where w.task = r.task
          and w.tenant_id > case when is_wrapped then ${FIRST}::uuid else r.previous end
        order by tenant_id limit 1) w
      union all
      select r.task, v.is_wrapped, w.tenant_id, v.number + 1
      from workspace v join request r on r.task = v.task, lateral (
        select tenant_id from wakeups w where w.task = r.task and w.tenant_id > v.tenant_id
        order by tenant_id limit 1) w
      where v.number < r.places + cardinality(r.full_tenant_ids)),
    turn as (
      select v.task, v.tenant_id, r.places, r.full_keys,
        row_number() over (partition by v.task order by v.is_wrapped, v.tenant_id) as position,
        count(*) over (partition by v.task) as workspaces
      from workspace v join request r on r.task = v.task
      where v.tenant_id <> all (r.full_tenant_ids) and (not v.is_wrapped or v.tenant_id <= r.previous)),
    claimed as (
      select t.task, t.tenant_id, w.key, t.position, w.ctid as row
      from turn t, lateral (
        select w.key, w.ctid from wakeups w
        where w.task = t.task and w.tenant_id = t.tenant_id and w.key <> all (t.full_keys)
        order by w.created_at limit (t.places - t.position) / t.workspaces + 1 for update skip locked) w
      where t.position <= t.places),
    deleted as (delete from wakeups where ctid = any (array (select row from claimed)))
    select task, tenant_id, key from claimed order by position`
}
