import { setTimeout as delay } from 'node:timers/promises'
import { runMigrations } from 'graphile-worker'
import { withinTime } from '../concurrency/deadline.ts'
import type { Logger } from '../log.ts'
import { SECOND } from '../time.ts'
import { JobConnections } from './job-connections.ts'
import type { Job, Tasks, WorkQueue } from './job-queue.ts'
import { graphileLogger, JobRunner } from './job-runner.ts'
import { listLockedJobs, recordHeartbeat, removeFinishedJobs, unlockJobs, unlockJobsOfDead } from './worker-registry.ts'

const HEARTBEAT_MS = 3 * SECOND
const HEARTBEAT_STATEMENT_MS = 3 * SECOND
/** Heartbeats in a row at which the database answered and the runner did no work: then it is replaced. */
const IDLE_BEATS_MAX = 3
/** The same, although the runner was replaced: then only another process can help. */
const STUCK_BEATS_MAX = 20
const RESTART_MS = 500
const STOP_MAX_MS = 8 * SECOND

type Options = { url: string; log: Logger; heartbeatMs?: number }

/** A job queue on graphile-worker, for all processes. */
export class GraphileJobQueue implements WorkQueue {
  readonly #options: Options
  readonly #tasks: Tasks = {}
  readonly #stopping = new AbortController()
  readonly #inProgress = new Set<Promise<void>>()
  /** Runners whose jobs are still to be unlocked. */
  readonly #endedIds = new Set<string>()
  readonly #adding = new Set<Promise<unknown>>()
  readonly #connections: JobConnections
  #runner: JobRunner | undefined
  #heartbeat: NodeJS.Timeout | undefined
  #isBeating = false
  #idleBeats = 0
  /** Those of the present runner. */
  #runnerIdleBeats = 0
  /** Jobs that the runner had locked at the last heartbeat without holding them. */
  #lostJobs = new Set<string>()
  #stopped: Promise<void> | undefined

  constructor(options: Options) {
    this.#options = options
    const { url, log } = options
    const name = 'parley heartbeat'
    this.#connections = new JobConnections({ url, name, max: 1, log, statementTimeoutMs: HEARTBEAT_STATEMENT_MS })
  }

  /** Creates or updates the queue's own tables. */
  async prepare(): Promise<void> {
    const { url, log } = this.#options
    const { pool } = new JobConnections({ url, name: 'parley jobs', max: 1, log })
    try {
      await runMigrations({ pgPool: pool, logger: graphileLogger(log) })
      // Postgres would plan the function's five statements on every call, which is half the cost of enqueueing a job.
      await pool.query(
        `alter function graphile_worker.add_jobs(graphile_worker.job_spec[], boolean) set plan_cache_mode = force_generic_plan`,
      )
    } finally {
      await pool.end()
    }
  }

  enqueue(jobs: readonly Job[]): void {
    if (jobs.length === 0) return
    const { log } = this.#options
    const lost = (err: unknown) => log.warn({ err }, 'jobs could not be enqueued; what is due will be found')
    const added = this.#connections.pool.query(ADD_JOBS_SQL, [toJobSpecs(jobs)]).catch(lost)
    this.#adding.add(added)
    void added.finally(() => this.#adding.delete(added))
  }

  /** Resolves when the jobs that were enqueued are in the queue. */
  async flush(): Promise<void> {
    await Promise.all(this.#adding)
  }

  /** True if all jobs that were enqueued are in the queue. */
  get isIdle(): boolean {
    return this.#adding.size === 0
  }

  /** True while this process could take jobs, as the database answers, but takes none. */
  get isStuck(): boolean {
    return this.#idleBeats >= IDLE_BEATS_MAX
  }

  async start(tasks: Tasks, onStuck: () => void = () => undefined): Promise<void> {
    const { heartbeatMs = HEARTBEAT_MS } = this.#options
    const { signal } = this.#stopping
    for (const [name, task] of Object.entries(tasks)) this.#tasks[name] = (job) => this.#track(task(job, { signal }))
    this.#runner = await this.#startRunner()
    await this.#beat(onStuck)
    this.#heartbeat = setInterval(() => void this.#beat(onStuck), heartbeatMs)
    this.#heartbeat.unref()
  }

  /** Waits at most `graceMs` for jobs in progress. The jobs of this process are unlocked for other workers. */
  stop(graceMs = STOP_MAX_MS): Promise<void> {
    return (this.#stopped ??= this.#stop(graceMs))
  }

  async #stop(graceMs: number): Promise<void> {
    clearInterval(this.#heartbeat)
    this.#stopping.abort()
    const runner = this.#runner
    // Jobs of replaced runners may be in progress, too.
    const ended = Promise.all([runner?.stop(graceMs), Promise.allSettled(this.#inProgress)])
    await withinTime(graceMs, ended).catch(() => undefined)
    if (runner) this.#endedIds.add(runner.id)
    const left = Promise.all([this.flush(), this.#unlockEnded()])
    await withinTime(SECOND, left).catch(() => undefined)
    this.#connections.close()
  }

  #track(work: Promise<void>): Promise<void> {
    const finish = () => this.#inProgress.delete(work)
    this.#inProgress.add(work)
    work.then(finish, finish)
    return work
  }

  #startRunner(): Promise<JobRunner> {
    const { url, log } = this.#options
    return JobRunner.start({ url, log, tasks: this.#tasks, onEnd: (runner, reason) => this.#replace(runner, reason) })
  }

  #replace(runner: JobRunner, reason: unknown): void {
    if (this.#runner !== runner || this.#stopped) return
    this.#options.log.warn({ err: toError(reason), worker: runner.id }, 'job runner is replaced')
    this.#runner = undefined
    this.#endedIds.add(runner.id)
    this.#lostJobs.clear()
    runner.end()
    void this.#restart()
  }

  async #restart(): Promise<void> {
    while (!this.#runner && !this.#stopped) {
      await delay(RESTART_MS, undefined, { ref: false })
      try {
        const runner = await this.#startRunner()
        if (this.#stopped) return runner.end()
        this.#runnerIdleBeats = 0
        this.#runner = runner
      } catch (error) {
        this.#options.log.warn({ err: error }, 'job runner could not be started')
      }
    }
  }

  async #beat(onStuck: () => void): Promise<void> {
    if (this.#isBeating) return
    this.#isBeating = true
    try {
      const runner = this.#runner
      const isWorking = runner?.hasWorked() ?? false
      // Without an answer, the runner can do nothing either, and the heartbeat is not counted.
      if (runner && isWorking) await recordHeartbeat(this.#connections.pool, runner.id)
      else await this.#connections.pool.query('select 1')
      this.#count(isWorking, runner)
      if (this.#idleBeats === STUCK_BEATS_MAX) onStuck()
      await this.#unlock(runner)
    } catch (error) {
      this.#options.log.warn({ err: error }, 'heartbeat failed')
    } finally {
      this.#isBeating = false
    }
  }

  #count(isWorking: boolean, runner: JobRunner | undefined): void {
    this.#idleBeats = isWorking ? 0 : this.#idleBeats + 1
    this.#runnerIdleBeats = isWorking ? 0 : this.#runnerIdleBeats + 1
    if (runner && this.#runnerIdleBeats >= IDLE_BEATS_MAX) {
      this.#replace(runner, 'it takes no jobs although the database answers')
    }
  }

  /** Unlocks the jobs of workers that do not work. */
  async #unlock(runner: JobRunner | undefined): Promise<void> {
    const { pool } = this.#connections
    await this.#unlockEnded()
    if (await unlockJobsOfDead(pool)) this.#options.log.warn('unlocked the jobs of dead workers')
    await removeFinishedJobs(pool)
    if (runner) await this.#findLostJobs(runner)
  }

  /** Replaces a runner that has locked a job and does not know it, as the answer to its statement was lost. */
  async #findLostJobs(runner: JobRunner): Promise<void> {
    const lost = (await listLockedJobs(this.#connections.pool, runner.id)).filter((id) => !runner.holds(id))
    // A statement may be under way at one heartbeat, but not at two.
    const isCertain = lost.some((id) => this.#lostJobs.has(id))
    this.#lostJobs = new Set(lost)
    if (isCertain) this.#replace(runner, 'it has locked jobs that it does not know of')
  }

  async #unlockEnded(): Promise<void> {
    const ids = [...this.#endedIds]
    if (ids.length === 0) return
    await unlockJobs(this.#connections.pool, ids)
    for (const id of ids) this.#endedIds.delete(id)
  }
}

const ADD_JOBS_SQL = `select count(*) from graphile_worker.add_jobs(
  array(select json_populate_recordset(null::graphile_worker.job_spec, $1::json)))`

/** The queue rejects a key that occurs twice in a call. Sorting makes two transactions lock keys in the same order. */
function toJobSpecs(jobs: readonly Job[]): string {
  const byKey = new Map(jobs.map((job) => [`${job.task}:${job.key}`, job]))
  const specs = [...byKey]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([jobKey, { task, tenantId, key }]) => ({
      identifier: task,
      payload: { tenantId, key },
      job_key: jobKey,
      max_attempts: 25,
    }))
  return JSON.stringify(specs)
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason))
}
