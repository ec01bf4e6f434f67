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
import type { Database } from '../database/database.ts'
import type { Job, JobQueue, Tasks } from './job-queue.ts'
import type { Logger } from '../log.ts'
import { SECOND } from '../time.ts'

const HEARTBEAT_MS = 3 * SECOND
/** A process silent for this long is taken for dead, and what it had locked is freed. */
const SILENT_SECONDS = 10

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

/** Bells on graphile-worker: the queue lives in the same database, so ringing is part of the caller's transaction. */
export class GraphileJobQueue implements JobQueue {
  readonly #pool: pg.Pool
  readonly #log: Logger
  readonly #logger: GraphileLogger
  #runner: Runner | undefined
  #workerId: string | undefined
  #heartbeat: NodeJS.Timeout | undefined
  #stopping = false

  constructor(options: { url: string; log: Logger; poolMax?: number }) {
    this.#log = options.log
    this.#logger = new GraphileLogger(() => (level, message, meta) => {
      if (level === 'error' || level === 'warning')
        this.#log.warn({ source: 'job queue', meta: meta?.['error'] }, message)
    })
    this.#pool = new pg.Pool({
      connectionString: options.url,
      max: options.poolMax ?? 10,
      application_name: 'parley jobs',
    })
    this.#pool.on('error', (error) => this.#log.warn({ err: error }, 'job queue connection lost'))
    this.#pool.on('connect', (client) => client.on('error', () => undefined))
  }

  /** Creates or updates the queue's own tables. */
  async prepare(): Promise<void> {
    await runMigrations({ pgPool: this.#pool, logger: this.#logger })
    // Postgres would plan the function's five statements anew on every call: half of what ringing a bell costs.
    await this.#pool.query(
      `alter function graphile_worker.add_jobs(graphile_worker.job_spec[], boolean) set plan_cache_mode = force_generic_plan`,
    )
  }

  async enqueue(db: Database, bells: Job[]): Promise<void> {
    if (bells.length === 0) return
    // The queue refuses one key twice in a call; sorted, two transactions take the same keys in the same order.
    const byKey = new Map(bells.map((bell) => [bell.key, bell]))
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
      Object.entries(tasks).map(([name, answer]) => [name, (payload) => answer(payload as Record<string, string>)]),
    )
    await this.#run(taskList)
    this.#heartbeat = setInterval(() => void this.#beat(), HEARTBEAT_MS)
    this.#heartbeat.unref()
  }

  async stop(): Promise<void> {
    this.#stopping = true
    clearInterval(this.#heartbeat)
    await this.#runner
      ?.stop()
      .catch((error: unknown) => this.#log.warn({ err: error }, 'job queue stopped with errors'))
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
    // A database that went away may end the runner, which then says so by an error or by nothing at all. A new one starts
    // under a new id; the heartbeat frees the old one's jobs.
    const onEnd = (error?: unknown) => {
      if (this.#stopping || this.#runner !== runner) return
      this.#log.warn({ err: error }, 'job queue ended, starting it again')
      setTimeout(() => void this.#restart(taskList), SECOND).unref()
    }
    runner.promise.then(() => onEnd(), onEnd)
  }

  async #restart(taskList: TaskList): Promise<void> {
    if (this.#stopping) return
    try {
      await this.#run(taskList)
    } catch (error) {
      this.#log.warn({ err: error }, 'job queue did not start')
      setTimeout(() => void this.#restart(taskList), SECOND).unref()
    }
  }

  /** Tells that we live, and frees what the silent had locked. */
  async #beat(): Promise<void> {
    try {
      await this.#pool.query(
        `insert into workers (id, seen_at) values ($1, now()) on conflict (id) do update set seen_at = excluded.seen_at`,
        [this.#workerId],
      )
      const { rowCount } = await this.#pool.query(
        `with silent as (
           select array_agg(distinct locked_by) as ids from graphile_worker.jobs
           where locked_at < now() - make_interval(secs => $1)
             and locked_by not in (select id from workers where seen_at >= now() - make_interval(secs => $1)))
         select graphile_worker.force_unlock_workers(ids) from silent where ids is not null`,
        [SILENT_SECONDS],
      )
      if (rowCount) this.#log.warn('freed the jobs of workers that fell silent')
      // Rung again while it was being answered, a bell passes its key on and is only its worker's to remove.
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
