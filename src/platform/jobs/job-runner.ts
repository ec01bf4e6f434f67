import { EventEmitter } from 'node:events'
import { Logger as GraphileLogger, run, type Runner, type TaskList, type WorkerEvents } from 'graphile-worker'
import { withinTime } from '../concurrency/deadline.ts'
import { getField } from '../get-field.ts'
import type { Logger } from '../log.ts'
import { SECOND } from '../time.ts'
import { JobConnections } from './job-connections.ts'
import { type Job, JOB_MAX_MS, type Task, type Tasks } from './job-queue.ts'

const START_MAX_MS = 10 * SECOND
const CONCURRENT_JOBS = 8

const PRESET: GraphileConfig.Preset = {
  worker: {
    concurrentJobs: CONCURRENT_JOBS,
    pollInterval: 2 * SECOND,
    localQueue: { size: 16 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
}

type Options = {
  url: string
  tasks: Tasks
  log: Logger
  /** Called at most once, when the runner has ended by itself. Its jobs stay locked. */
  onEnd: (runner: JobRunner, reason: unknown) => void
}

/** Passes the warnings and errors of graphile-worker on. */
export function graphileLogger(log: Logger): GraphileLogger {
  return new GraphileLogger(() => (level, message, meta) => {
    if (level === 'error' || level === 'warning')
      log.warn({ source: 'job queue', err: meta?.['error'] }, toFixedPart(message))
  })
}

/**
 * A runner of graphile-worker with its own connections. A failure to complete a job, or to return one to the queue, makes
 * the library shut down, and that may never finish: its count of open completions can become negative. Such a runner
 * ends at once, and its owner starts another one. The promises of its jobs in progress then never settle: the library
 * would complete these jobs on closed connections, and nothing handles that rejection.
 */
export class JobRunner {
  readonly #options: Options
  readonly #connections: JobConnections
  readonly #jobIds = new Set<string>()
  #id = ''
  #runner: Runner | undefined
  #running = 0
  #hasFetched = false
  #isStopping = false
  #isEnded = false

  private constructor(options: Options) {
    const { url, log } = options
    this.#options = options
    // The library keeps one connection to listen; a pool smaller than its concurrency makes it log a warning.
    this.#connections = new JobConnections({ url, name: 'parley jobs', max: CONCURRENT_JOBS + 2, log })
  }

  static async start(options: Options): Promise<JobRunner> {
    const runner = new JobRunner(options)
    try {
      await withinTime(START_MAX_MS, runner.#start())
      if (runner.#isEnded) throw new Error('the job runner ended while it started')
      return runner
    } catch (error) {
      runner.end()
      throw error
    }
  }

  /** The ID under which the queue records who has locked a job. */
  get id(): string {
    return this.#id
  }

  /** Returns true if the runner has asked the queue for jobs since the last call, or executes as many as it may. */
  hasWorked(): boolean {
    const hasWorked = this.#hasFetched || this.#running >= CONCURRENT_JOBS
    this.#hasFetched = false
    return hasWorked
  }

  /** Returns false for a job that this runner has locked without learning of it, because the answer was lost. */
  holds(jobId: string): boolean {
    return this.#jobIds.has(jobId)
  }

  /** Takes no more jobs, waits at most `graceMs` for those in progress, and ends. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    try {
      if (!this.#isEnded && this.#runner) await withinTime(graceMs, this.#runner.stop())
    } catch (error) {
      this.#options.log.warn({ err: error }, 'job queue stopped with an error')
    } finally {
      this.end()
    }
  }

  /** Ends the runner without waiting for anything. Jobs in progress go on, but are not completed. */
  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    // Ends the timers of the library. After `stop` it rejects, as the runner is stopped.
    this.#runner?.stop().catch(() => undefined)
    this.#connections.close()
  }

  async #start(): Promise<void> {
    const { tasks, log } = this.#options
    const taskList: TaskList = Object.fromEntries(
      Object.entries(tasks).map(([name, task]) => [name, (payload) => this.#execute(task, toJob(name, payload))]),
    )
    this.#runner = await run({
      pgPool: this.#connections.pool,
      logger: graphileLogger(log),
      noHandleSignals: true,
      events: this.#observe(),
      taskList,
      preset: PRESET,
    })
    this.#runner.promise.then(
      () => this.#endWith('the runner ended'),
      (error: unknown) => this.#endWith(error),
    )
    // The start was given up, or a job failed to complete, in the meantime.
    if (this.#isEnded) this.#runner.stop().catch(() => undefined)
  }

  #observe(): WorkerEvents {
    const events: WorkerEvents = new EventEmitter()
    events.on('pool:create', ({ workerPool }) => (this.#id = workerPool.id))
    events.on('localQueue:getJobs:complete', ({ jobs }) => {
      this.#hasFetched = true
      for (const { id } of jobs) this.#jobIds.add(String(id))
    })
    events.on('localQueue:returnJobs', ({ jobs }) => jobs.forEach(({ id }) => this.#jobIds.delete(String(id))))
    events.on('job:complete', ({ job }) => this.#jobIds.delete(String(job.id)))
    events.on('pool:fatalError', ({ error }) => this.#endWith(error))
    events.on('pool:gracefulShutdown', ({ message }) => this.#endWith(message))
    return events
  }

  #endWith(reason: unknown): void {
    if (this.#isEnded || this.#isStopping) return
    this.end()
    this.#options.onEnd(this, reason)
  }

  async #execute(task: Task, job: Job | undefined): Promise<void> {
    if (!job) return
    this.#running += 1
    try {
      await withinTime(JOB_MAX_MS, task(job))
    } finally {
      this.#running -= 1
      if (this.#isEnded) await new Promise<never>(() => undefined)
    }
  }
}

/** The queue appends the texts of errors to its messages. They may contain values, and the error is logged anyway. */
function toFixedPart(message: string): string {
  return message.split(/[:'"\n]/, 1)[0]?.trim() ?? ''
}

/** Jobs of another version may have no key. As hints, they may fall away. */
function toJob(task: string, payload: unknown): Job | undefined {
  const [tenantId, key] = [getField(payload, 'tenantId'), getField(payload, 'key')]
  return typeof tenantId === 'string' && typeof key === 'string' ? { task, tenantId, key } : undefined
}
