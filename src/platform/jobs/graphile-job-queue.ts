import { EventEmitter } from 'node:events'
import {
  Logger as GraphileLogger,
  type Runner,
  run,
  runMigrations,
  type TaskList,
  type WorkerEvents,
} from 'graphile-worker'
import pg from 'pg'
import { CONNECTION, closeWhenUnanswered } from '../database/connections.ts'
import type { Database } from '../database/database.ts'
import type { Job, JobQueue, Tasks } from './job-queue.ts'
import type { Logger } from '../log.ts'
import { SECOND } from '../time.ts'

const HEARTBEAT_MS = 3 * SECOND
/** A worker without a heartbeat for this long is considered dead, and its jobs are unlocked. */
const DEAD_AFTER_SECONDS = 10

const PRESET: GraphileConfig.Preset = {
  worker: {
    concurrentJobs: 8,
    maxPoolSize: 10,
    pollInterval: 2 * SECOND,
    localQueue: { size: 16 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
    gracefulShutdownAbortTimeout: 8 * SECOND,
  },
}

/** A job queue on graphile-worker. It is in the same database, so enqueueing is part of the caller's transaction. */
export class GraphileJobQueue implements JobQueue {
  readonly #pool: pg.Pool
  readonly #log: Logger
  readonly #logger: GraphileLogger
  #runner: Runner | undefined
  #workerId: string | undefined
  #heartbeat: NodeJS.Timeout | undefined
  #stopped: Promise<void> | undefined

  constructor(options: { url: string; log: Logger; poolMax?: number }) {
    this.#log = options.log
    this.#logger = new GraphileLogger(() => (level, message, meta) => {
      if (level === 'error' || level === 'warning')
        this.#log.warn({ source: 'job queue', err: meta?.['error'] }, toFixedPart(message))
    })
    this.#pool = new pg.Pool({
      connectionString: options.url,
      max: options.poolMax ?? 10,
      application_name: 'parley jobs',
      ...CONNECTION,
    })
    this.#pool.on('error', (error) => this.#log.warn({ err: error }, 'job queue connection lost'))
    this.#pool.on('connect', (client) => {
      client.on('error', () => undefined)
      closeWhenUnanswered(client)
    })
  }

  /** Creates or updates the queue's own tables. */
  async prepare(): Promise<void> {
    await runMigrations({ pgPool: this.#pool, logger: this.#logger })
    // Postgres would plan the function's five statements on every call, which is half the cost of enqueueing a job.
    await this.#pool.query(
      `alter function graphile_worker.add_jobs(graphile_worker.job_spec[], boolean) set plan_cache_mode = force_generic_plan`,
    )
  }

  async enqueue(db: Database, jobs: Job[]): Promise<void> {
    if (jobs.length === 0) return
    // The queue rejects a key that occurs twice in a call. Sorting makes two transactions lock keys in the same order.
    const byKey = new Map(jobs.map((job) => [job.key, job]))
    const specs = [...byKey.values()]
      .sort((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ task, key, payload }) => ({ identifier: task, payload, job_key: key, max_attempts: 25 }))
    await db.raw(
      `select count(*) from graphile_worker.add_jobs(
        array(select json_populate_recordset(null::graphile_worker.job_spec, ?::json)))`,
      [JSON.stringify(specs)],
    )
  }

  async start(tasks: Tasks): Promise<void> {
    const taskList: TaskList = Object.fromEntries(
      Object.entries(tasks).map(([name, run]) => [name, (payload) => run(toPayload(payload))]),
    )
    await this.#run(taskList)
    this.#heartbeat = setInterval(() => void this.#beat(), HEARTBEAT_MS)
    this.#heartbeat.unref()
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop())
  }

  async #stop(): Promise<void> {
    clearInterval(this.#heartbeat)
    await this.#runner
      ?.stop()
      .catch((error: unknown) => this.#log.warn({ err: error }, 'job queue stopped with an error'))
    await this.#pool.end()
  }

  async #run(taskList: TaskList): Promise<void> {
    const events: WorkerEvents = new EventEmitter()
    events.once('pool:create', ({ workerPool }) => (this.#workerId = workerPool.id))
    const runner = await run({
      pgPool: this.#pool,
      logger: this.#logger,
      noHandleSignals: true,
      events,
      taskList,
      preset: PRESET,
    })
    this.#runner = runner
    await this.#beat()
    // An unreachable database may end the runner, with or without an error. The next one starts under a new id, and the
    // heartbeat unlocks the jobs of the old one.
    const onEnd = (error?: unknown) => {
      if (this.#stopped || this.#runner !== runner) return
      this.#log.warn({ err: error }, 'job queue ended and is restarted')
      setTimeout(() => void this.#restart(taskList), SECOND).unref()
    }
    runner.promise.then(() => onEnd(), onEnd)
  }

  async #restart(taskList: TaskList): Promise<void> {
    if (this.#stopped) return
    try {
      await this.#run(taskList)
    } catch (error) {
      this.#log.warn({ err: error }, 'job queue could not be started')
      setTimeout(() => void this.#restart(taskList), SECOND).unref()
    }
  }

  /** Records that this worker is alive, and unlocks the jobs of dead workers. */
  async #beat(): Promise<void> {
    try {
      await this.#pool.query(
        `insert into workers (id, seen_at) values ($1, now()) on conflict (id) do update set seen_at = excluded.seen_at`,
        [this.#workerId],
      )
      const { rowCount } = await this.#pool.query(
        `with dead as (
           select array_agg(distinct locked_by) as ids from graphile_worker.jobs
           where locked_at < now() - make_interval(secs => $1)
             and locked_by not in (select id from workers where seen_at >= now() - make_interval(secs => $1)))
         select graphile_worker.force_unlock_workers(ids) from dead where ids is not null`,
        [DEAD_AFTER_SECONDS],
      )
      if (rowCount) this.#log.warn('unlocked the jobs of dead workers')
      // A job that is enqueued again while it runs loses its key to the new one, and only its worker would remove it.
      await this.#pool.query(
        `select graphile_worker.complete_jobs(array_agg(id)) from graphile_worker.jobs
         where key is null and locked_at is null and attempts >= max_attempts having count(*) > 0`,
      )
      await this.#pool.query(`delete from workers where seen_at < now() - interval '1 hour'`)
    } catch (error) {
      this.#log.warn({ err: error }, 'heartbeat failed')
    }
  }
}

/** The queue appends the texts of errors to its messages. They may contain values, and the error is logged anyway. */
function toFixedPart(message: string): string {
  return message.split(/[:'"\n]/, 1)[0]?.trim() ?? ''
}

/** Only `enqueue` writes payloads, and it writes texts. */
function toPayload(payload: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(payload ?? {}))
}
