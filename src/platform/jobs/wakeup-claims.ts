import { randomUUID } from 'node:crypto'
import type { Database } from '../database/database.ts'
import { createSqlTag, toRecordset } from '../database/sql.ts'
import { assertNoTenantTable } from '../database/statements/statement.ts'
import { NIL_ID } from '../ids.ts'
import type { Logger } from '../log.ts'
import type { Notifications } from '../notifications/notifications.ts'
import { SECOND } from '../time.ts'
import type { JobExecutor } from './job-executor.ts'
import type { Job } from './job-queue.ts'

/** Longest time until a row is found whose notification was lost. */
const POLL_MS = 2 * SECOND
/** That time as a multiple of it while no notification arrives and no poll finds anything. */
const QUIET_POLLS = 3
/** Polls are spread over the last quarter of that time, so that those of several workers drift apart. */
const JITTER = 1 / 4
/** Polls during which claims fail after which the process is not ready: 9 seconds. */
const STUCK_POLLS = 4.5
/** Those after which only another process can help: a minute. */
const LOST_POLLS = 30
/** Time until rows are looked at again that another process was claiming. */
const LOCKED_MS = 50

type Options = {
  db: Database
  notifications: Pick<Notifications, 'subscribe'>
  log: Logger
  /** Those of the tasks that this process knows. */
  executors: ReadonlyMap<string, JobExecutor>
  /** Gets what was claimed while the process began to stop. */
  leave: (jobs: Job[]) => void
  /** Called once, when claims have failed for a minute although the database answers. */
  onStuck: () => void
  pollMs: number | undefined
}

/** A claim for a task: of workspaces and keys that have room here, from the workspace behind the last one. */
type Request = { task: string; places: number; previous: string; fullTenantIds: string[]; fullKeys: string[] }

/** Result of a claim for a task. */
type Claimed = {
  jobs: Job[]
  /** True if there were rows of workspaces and keys with room, although another process may have been claiming them. */
  hasSeenRoom: boolean
  /** True if there were rows at all. */
  hasSeenRows: boolean
}

/**
 * Claims rows of `wakeups` for the executors of this process, as many as they have free places, by deleting them. A row
 * that is claimed by a process that ends is lost: what is due is found by periodic tasks. A claim follows a notification,
 * a place that becomes free while rows wait, or 2 seconds without regard to either, and 6 while there is nothing to claim.
 */
export class WakeupClaims {
  readonly #options: Options
  readonly #pollMs: number
  /** Tasks that may have rows. */
  readonly #pending = new Set<string>()
  /** Tasks whose rows may be newer than the claim in progress. */
  readonly #notified = new Set<string>()
  /** By task, the workspace that was last in turn. Processes begin at different ones, so that they claim different rows. */
  readonly #turns = new Map<string, string>()
  #claiming: Promise<void> | undefined
  #isWoken = false
  #isPolling = false
  /** True while nothing was found or announced since the poll before. */
  #isQuiet = false
  #isStopped = false
  #poll: NodeJS.Timeout | undefined
  #retry: NodeJS.Timeout | undefined
  #unsubscribe: () => void = () => undefined
  /** Since when each claim has failed although the database answers. */
  #failingSinceMs: number | undefined
  #hasFailed = false
  #isReported = false

  constructor(options: Options) {
    this.#options = options
    this.#pollMs = options.pollMs ?? POLL_MS
  }

  /** True while no claim succeeds although the database answers. */
  get isStuck(): boolean {
    return this.#failingMs >= STUCK_POLLS * this.#pollMs
  }

  /** True while no claim is in progress. */
  get isIdle(): boolean {
    return this.#claiming === undefined
  }

  start(): void {
    this.#unsubscribe = this.#options.notifications.subscribe('jobs', (task) => {
      this.#isQuiet = false
      this.#wake(task)
    })
    this.#pollAgain()
  }

  /** Claims no more, and resolves when what was claimed meanwhile is left to others. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#unsubscribe()
    clearTimeout(this.#poll)
    clearTimeout(this.#retry)
    await this.#claiming
  }

  /** Has to be called when an executor has a free place. */
  onFree(task: string): void {
    if (this.#pending.has(task)) this.#claim()
  }

  get #failingMs(): number {
    return this.#failingSinceMs === undefined ? 0 : performance.now() - this.#failingSinceMs
  }

  /** Looks for the rows of all tasks, whatever else is claimed meanwhile. */
  #pollAgain(): void {
    this.#isPolling = true
    this.#pollLater(this.#isQuiet ? QUIET_POLLS : 1)
    this.#isQuiet = true
    this.#wake()
  }

  #pollLater(polls: number): void {
    clearTimeout(this.#poll)
    this.#poll = setTimeout(() => this.#pollAgain(), polls * this.#pollMs * (1 - JITTER * Math.random()))
    this.#poll.unref()
  }

  /** Rows of a task, or of all, may wait. */
  #wake(task?: string): void {
    const { executors } = this.#options
    for (const name of task === undefined ? executors.keys() : [task]) {
      if (!executors.has(name)) continue
      this.#notified.add(name)
      this.#pending.add(name)
    }
    this.#claim()
  }

  /** After a failure, only a poll claims: the next claim would fail, too. */
  #claim(): void {
    if (this.#isStopped || (this.#hasFailed && !this.#isPolling)) return
    this.#isWoken = true
    this.#claiming ??= this.#claimAll()
  }

  async #claimAll(): Promise<void> {
    while (this.#isWoken && !this.#isStopped) {
      this.#isWoken = false
      try {
        await this.#claimOnce()
        this.#hasFailed = false
        this.#failingSinceMs = undefined
      } catch (error) {
        await this.#recordFailure(error)
      }
    }
    this.#claiming = undefined
  }

  async #claimOnce(): Promise<void> {
    const { db } = this.#options
    const isPoll = this.#isPolling
    this.#isPolling = false
    const requests = [...this.#pending].map((task) => this.#toRequest(task, isPoll)).filter(({ places }) => places > 0)
    if (requests.length === 0) return
    this.#notified.clear()
    const claimed = await claimWakeups(db, requests)
    for (const [task, result] of claimed) this.#accept(task, result)
  }

  /** A poll also takes some rows that have to wait: at a busy worker, they would otherwise never be in the turns. */
  #toRequest(task: string, isPoll: boolean): Request {
    const executor = this.#options.executors.get(task)
    const { tenantIds = [], keys = [] } = executor?.listFull() ?? {}
    const previous = this.#turns.get(task) ?? randomUUID()
    const places = (isPoll ? executor?.room : executor?.free) ?? 0
    return { task, places, previous, fullTenantIds: tenantIds, fullKeys: keys }
  }

  /**
   * Claims again what may be left: at once, soon if another process was claiming it, or when a place becomes free if
   * workspaces and keys have no room.
   */
  #accept(task: string, { jobs, hasSeenRoom, hasSeenRows }: Claimed): void {
    const { executors, leave } = this.#options
    const last = jobs.at(-1)
    if (last) this.#turns.set(task, last.tenantId)
    if (hasSeenRows) this.#isQuiet = false
    if (last || this.#notified.has(task)) this.#isWoken = true
    else if (hasSeenRoom) this.#claimSoon()
    else if (!hasSeenRows) this.#pending.delete(task)
    if (this.#isStopped) return leave(jobs)
    for (const job of jobs) executors.get(task)?.add(job)
  }

  #claimSoon(): void {
    if (this.#isStopped) return
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => this.#claim(), LOCKED_MS)
    this.#retry.unref()
  }

  /** The time in which the database does not answer is not counted. */
  async #recordFailure(error: unknown): Promise<void> {
    const { db, log, onStuck } = this.#options
    if (!this.#hasFailed) log.warn({ event: 'jobs_not_claimed', err: error }, 'jobs could not be claimed')
    this.#hasFailed = true
    this.#isWoken = false
    this.#isQuiet = false
    if (!this.#isStopped) this.#pollLater(1)
    try {
      await db.raw('select 1')
      this.#failingSinceMs ??= performance.now()
    } catch {
      this.#failingSinceMs = undefined
    }
    if (this.#failingMs < LOST_POLLS * this.#pollMs || this.#isReported) return
    this.#isReported = true
    onStuck()
  }
}

/**
 * Claims the oldest rows of the workspaces that are next in turn, the same number of each, and returns them by task, in the
 * order of the turns. Workspaces are found by one lookup in the index for each, however many rows they have. Rows that
 * another process is claiming are left out.
 */
async function claimWakeups(db: Database, requests: Request[]): Promise<Map<string, Claimed>> {
  const rows = await createSqlTag<Job & { hasSeenRoom: boolean | null; hasSeenRows: boolean | null }>(
    db,
    'claimWakeups',
    assertNoTenantTable,
  )`
    with recursive request as (
      select * from jsonb_to_recordset(${toRecordset(requests)}::jsonb)
        as x (task text, places int, previous uuid, full_tenant_ids uuid[], full_keys text[])),
    workspace as (
      select r.task, is_wrapped, w.tenant_id, 1 as number
      from request r cross join unnest(array[false, true]) is_wrapped, lateral (
        select tenant_id from wakeups w where w.task = r.task
          and w.tenant_id > case when is_wrapped then ${NIL_ID}::uuid else r.previous end
        order by tenant_id limit 1) w
      union all
      select r.task, v.is_wrapped, w.tenant_id, v.number + 1
      from workspace v join request r on r.task = v.task, lateral (
        select tenant_id from wakeups w where w.task = r.task and w.tenant_id > v.tenant_id
        order by tenant_id limit 1) w
      where v.number < r.places + cardinality(r.full_tenant_ids) + cardinality(r.full_keys)),
    turn as (
      select v.task, v.tenant_id, r.places, r.full_keys,
        row_number() over (partition by v.task order by v.is_wrapped, v.tenant_id) as position,
        count(*) over (partition by v.task) as workspaces
      from workspace v join request r on r.task = v.task
      where v.tenant_id <> all (r.full_tenant_ids) and (not v.is_wrapped or v.tenant_id <= r.previous)
        and exists (
          select from wakeups w where w.task = v.task and w.tenant_id = v.tenant_id and w.key <> all (r.full_keys))),
    claimed as (
      select t.task, t.tenant_id, w.key, t.position, w.ctid as row
      from turn t, lateral (
        select w.key, w.ctid from wakeups w
        where w.task = t.task and w.tenant_id = t.tenant_id and w.key <> all (t.full_keys)
        order by w.created_at limit (t.places - t.position) / t.workspaces + 1 for update skip locked) w
      where t.position <= t.places),
    deleted as (delete from wakeups where ctid = any (array (select row from claimed)))
    select task, tenant_id, key, position, null::boolean as has_seen_room, null::boolean as has_seen_rows from claimed
    union all
    select r.task, null, null, null, exists (select from turn t where t.task = r.task),
      exists (select from wakeups w where w.task = r.task) from request r
    order by position`
  const claimed = new Map<string, Claimed>(
    requests.map(({ task }) => [task, { jobs: [], hasSeenRoom: false, hasSeenRows: false }]),
  )
  for (const { task, tenantId, key, hasSeenRoom, hasSeenRows } of rows) {
    const result = claimed.get(task)
    if (hasSeenRoom === null) result?.jobs.push({ task, tenantId, key })
    else if (result) Object.assign(result, { hasSeenRoom, hasSeenRows })
  }
  return claimed
}
