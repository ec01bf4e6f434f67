import { withinTime } from '../concurrency/deadline.ts'
import type { Logger } from '../log.ts'
import { SECOND } from '../time.ts'
import type { GraphileJobQueue } from './graphile-job-queue.ts'
import type { Job, JobControl, Tasks, WorkQueue } from './job-queue.ts'
import { JobExecutor, type JobLimits } from './job-executor.ts'

const STOP_MAX_MS = 8 * SECOND

type Options = {
  queue: GraphileJobQueue
  /** Limits of the tasks whose jobs are executed by the process that has enqueued them, if it is a worker. */
  localTasks: Record<string, JobLimits>
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
  #local = new Map<string, JobExecutor>()
  #stopped: Promise<void> | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /** True while this process could take jobs of the queue but takes none. */
  get isStuck(): boolean {
    return this.#options.queue.isStuck
  }

  /** True if no job that was enqueued waits or is in progress in this process. */
  get isIdle(): boolean {
    return this.#options.queue.isIdle && [...this.#local.values()].every(({ isIdle }) => isIdle)
  }

  enqueue(jobs: readonly Job[]): void {
    this.#options.queue.enqueue(jobs.filter(({ task }) => !this.#local.has(task)))
    for (const job of jobs) this.#local.get(job.task)?.add(job)
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
      const jobs = new JobExecutor({
        name,
        task: (job, own) => task(job, { ...control, ...own }),
        limits,
        log,
      })
      this.#local.set(name, jobs)
      // Jobs of the queue take turns with the others, and are merged with them.
      queued[name] = async (job) => jobs.add(job)
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
      this.#options.queue.enqueue(jobs)
      await withinTime(SECOND, this.#options.queue.flush())
    } catch (error) {
      this.#options.log.warn({ err: error }, 'jobs could not be left to other processes, which will find what is due')
    }
  }
}
