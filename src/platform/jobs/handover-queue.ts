import { withinTime } from '../concurrency/deadline.ts'
import type { Database } from '../database/database.ts'
import type { Logger } from '../log.ts'
import { SECOND } from '../time.ts'
import type { GraphileJobQueue } from './graphile-job-queue.ts'
import type { Job, JobControl, Tasks, TransactionJobs, WorkQueue } from './job-queue.ts'
import { LocalJobs, type LocalLimits } from './local-jobs.ts'

const STOP_MAX_MS = 8 * SECOND

type Options = {
  queue: GraphileJobQueue
  /** Limits of the tasks whose jobs are executed by the process that has enqueued them, if it is a worker. */
  localTasks: Record<string, LocalLimits>
  log: Logger
}

/**
 * A job queue that executes jobs of some tasks in this process, right after the commit of their transaction and without a
 * row in the queue. Such a job is lost if the process ends between the two, so periodic tasks have to look for what is
 * overdue. All other jobs, and those of processes that execute none, are in the queue; a worker that takes one of such a
 * task completes it at once and executes it like its own.
 */
export class HandoverQueue implements WorkQueue {
  readonly #options: Options
  readonly #stopping = new AbortController()
  #local = new Map<string, LocalJobs>()
  #stopped: Promise<void> | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /** True while this process could take jobs of the queue but takes none. */
  get isStuck(): boolean {
    return this.#options.queue.isStuck
  }

  /** True if no job that was handed over waits or is in progress. */
  get isIdle(): boolean {
    return [...this.#local.values()].every(({ isIdle }) => isIdle)
  }

  async enqueue(db: Database, jobs: Job[]): Promise<void> {
    await this.#options.queue.enqueue(
      db,
      jobs.filter((job) => !this.#isLocal(job)),
    )
    this.#handOver(jobs.filter((job) => this.#isLocal(job)))
  }

  forTransaction(): TransactionJobs {
    return this.#collect((jobs) => this.#handOver(jobs))
  }

  async start(tasks: Tasks, onStuck?: () => void): Promise<void> {
    const { queue, localTasks, log } = this.#options
    const control: JobControl = {
      signal: this.#stopping.signal,
      reserve: (job) => this.#local.get(job.task)?.reserve(job),
    }
    const queued: Tasks = { ...tasks }
    for (const [name, limits] of Object.entries(localTasks)) {
      const task = tasks[name]
      if (!task) continue
      const jobs = new LocalJobs({
        name,
        task: (payload, { release } = {}) => task(payload, { ...control, release }),
        limits,
        log,
      })
      this.#local.set(name, jobs)
      // Jobs of the queue take turns with the others, and are merged with them.
      queued[name] = async (payload) => jobs.add({ task: name, key: toKey(name, payload), payload })
    }
    await queue.start(queued, onStuck)
  }

  /** Waits at most `graceMs` for jobs in progress. Those that wait, and later ones, are left to other processes. */
  stop(graceMs = STOP_MAX_MS): Promise<void> {
    return (this.#stopped ??= this.#stop(graceMs))
  }

  async #stop(graceMs: number): Promise<void> {
    this.#stopping.abort()
    const stopped = [...this.#local.values()].map((jobs) => jobs.stop())
    this.#local = new Map()
    await this.#leaveToOthers(stopped.flatMap(({ waiting }) => waiting))
    await Promise.all([
      withinTime(graceMs, Promise.all(stopped.map(({ ended }) => ended))).catch(() => undefined),
      this.#options.queue.stop(graceMs),
    ])
  }

  async #leaveToOthers(jobs: Job[]): Promise<void> {
    try {
      await withinTime(SECOND, this.#options.queue.enqueueAlone(jobs))
    } catch (error) {
      this.#options.log.warn({ err: error }, 'jobs could not be left to other processes, which will find what is due')
    }
  }

  #collect(commit: (jobs: Job[]) => void): TransactionJobs {
    const local: Job[] = []
    return {
      queue: {
        enqueue: async (db, jobs) => {
          await this.#options.queue.enqueue(
            db,
            jobs.filter((job) => !this.#isLocal(job)),
          )
          local.push(...jobs.filter((job) => this.#isLocal(job)))
        },
        forTransaction: () => this.#collect((jobs) => local.push(...jobs)),
      },
      commit: () => commit(local),
    }
  }

  #isLocal({ task }: Job): boolean {
    return this.#local.has(task)
  }

  #handOver(jobs: Job[]): void {
    for (const job of jobs) this.#local.get(job.task)?.add(job)
  }
}

/** The key of a job of the queue, which its handler does not receive: the task and the values of the payload. */
function toKey(task: string, payload: Job['payload']): string {
  return [task, ...Object.values(payload)].join(':')
}
