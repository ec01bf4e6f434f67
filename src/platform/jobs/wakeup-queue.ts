import { setMaxListeners } from 'node:events'
import { withinTime } from '../concurrency/deadline.ts'
import { closeDatabase, type Database, openDatabase } from '../database/database.ts'
import type { Logger } from '../log.ts'
import type { Notifications } from '../notifications/notifications.ts'
import { SECOND } from '../time.ts'
import { JobExecutor, type JobLimits } from './job-executor.ts'
import type { Job, JobControl, JobQueue, Tasks, WorkQueue } from './job-queue.ts'
import { WakeupClaims } from './wakeup-claims.ts'
import { WakeupSender } from './wakeup-sender.ts'

const STOP_MAX_MS = 8 * SECOND
/** The statements of the queue take milliseconds. */
const STATEMENT_MAX_MS = 3 * SECOND
/** The table fills and empties faster than statistics are gathered, and a plan is kept. */
const KEYED_PLANS = 'set enable_seqscan = off'

type Options = {
  url: string
  isPooled?: boolean
  preparesStatements?: boolean
  notifications: Pick<Notifications, 'publish' | 'subscribe'>
  /** Limits of the tasks in this process, if it is a worker. */
  limits: Record<string, JobLimits>
  log: Logger
  /** Longest time between two claims, and the unit of the times after which the queue counts as stuck. */
  pollMs?: number
}

/**
 * A job queue of wake-ups. A worker executes the jobs that it enqueues itself, right after the commit of their transaction.
 * The others are rows of the table `wakeups` until a worker claims them, by deleting them, and executes them like its own.
 * A job is lost if its process ends between commit and row, or while it has it, so periodic tasks look for what is overdue.
 */
export class WakeupQueue implements WorkQueue {
  readonly #options: Options
  readonly #db: Database
  readonly #sender: WakeupSender
  readonly #stopping = new AbortController()
  readonly #executors = new Map<string, JobExecutor>()
  #claims: WakeupClaims | undefined
  #stopped: Promise<void> | undefined

  constructor(options: Options) {
    this.#options = options
    // Each call that a job makes listens for it.
    setMaxListeners(0, this.#stopping.signal)
    const { url, isPooled = false, preparesStatements = false, notifications, log } = options
    this.#db = openDatabase(url, {
      name: 'parley jobs',
      isPooled,
      preparesStatements: preparesStatements && !isPooled,
      ...(isPooled ? {} : { prepareSession: KEYED_PLANS }),
      connections: 1,
      statementTimeoutMs: STATEMENT_MAX_MS,
      acquireTimeoutMs: STATEMENT_MAX_MS,
    })
    this.#sender = new WakeupSender({ db: this.#db, notifications, log })
  }

  /** True while this process could take jobs, as the database answers, but takes none. */
  get isStuck(): boolean {
    return this.#claims?.isStuck ?? false
  }

  /** True if no job waits or is in progress in this process, and what it enqueued for others is stored. */
  get isIdle(): boolean {
    const executors = [...this.#executors.values()]
    return this.#sender.isIdle && (this.#claims?.isIdle ?? true) && executors.every(({ isIdle }) => isIdle)
  }

  /** A queue whose jobs go to the workers that have time for them. */
  get shared(): JobQueue {
    return { enqueue: (jobs) => this.#sender.add(jobs) }
  }

  enqueue(jobs: readonly Job[]): void {
    this.#sender.add(jobs.filter(({ task }) => !this.#executors.has(task)))
    for (const job of jobs) this.#executors.get(job.task)?.add(job)
  }

  async start(tasks: Tasks, onStuck: () => void = () => undefined): Promise<void> {
    const { limits, notifications, log, pollMs } = this.#options
    const control: JobControl = {
      signal: this.#stopping.signal,
      reserve: (job) => this.#executors.get(job.task)?.reserve(job),
    }
    for (const [name, task] of Object.entries(tasks)) {
      const own = limits[name]
      if (!own) throw new Error(`The task ${name} has no limits`)
      const execute = (job: Job, places?: JobControl) => task(job, { ...control, ...places })
      const onFree = () => this.#claims?.onFree(name)
      const onRest = () => this.#onRest(name)
      const { after = [] } = own
      const isPreceded = () => after.some((first) => this.#executors.get(first)?.isAtRest === false)
      this.#executors.set(name, new JobExecutor({ name, task: execute, limits: own, log, onFree, onRest, isPreceded }))
    }
    const leave = (jobs: Job[]) => this.#sender.add(jobs)
    const executors = new Map(this.#executors)
    this.#claims = new WakeupClaims({ db: this.#db, notifications, log, executors, leave, onStuck, pollMs })
    this.#claims.start()
  }

  /** Lets the tasks go on that a task comes before. */
  #onRest(name: string): void {
    for (const [other, executor] of this.#executors) {
      if (this.#options.limits[other]?.after?.includes(name)) executor.resume()
    }
  }

  /** Waits at most `graceMs` for jobs in progress. Those that wait, and later ones, are left to other processes. */
  stop(graceMs = STOP_MAX_MS): Promise<void> {
    return (this.#stopped ??= this.#stop(graceMs))
  }

  async #stop(graceMs: number): Promise<void> {
    this.#stopping.abort()
    const stopped = [...this.#executors.values()].map((jobs) => jobs.stop())
    this.#executors.clear()
    this.#sender.add(stopped.flatMap(({ waiting }) => waiting))
    await Promise.all([
      withinTime(SECOND, this.#leaveAll()).catch(() => undefined),
      withinTime(graceMs, Promise.all(stopped.map(({ ended }) => ended))).catch(() => undefined),
    ])
  }

  async #leaveAll(): Promise<void> {
    await this.#claims?.stop()
    await this.#sender.flush()
  }

  /** Stops, stores what was enqueued or claimed last, and closes the connection. */
  async close(): Promise<void> {
    await this.stop()
    await withinTime(SECOND, this.#leaveAll()).catch(() => undefined)
    await closeDatabase(this.#db)
  }
}
