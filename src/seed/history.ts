import { randomBytes } from 'node:crypto'
import type { Knex } from 'knex'
import { createTasks } from '../jobs.ts'
import { ExpiringCache } from '../platform/concurrency/expiring-cache.ts'
import { SharedObjects } from '../platform/concurrency/shared-objects.ts'
import { createSingleFlight } from '../platform/concurrency/batcher.ts'
import { FileMissingError } from '../platform/files/file-store.ts'
import { singleDatabase } from '../platform/database/pools/connection-pool.ts'
import type { Job, JobQueue, Tasks } from '../platform/jobs/job-queue.ts'
import { createLogger } from '../platform/log.ts'
import { Secrets } from '../platform/security/secrets.ts'
import { addMs, type Clock, SECOND } from '../platform/time.ts'
import type { Scope } from '../scope/scope.ts'
import { SystemScope } from '../scope/system-scope.ts'
import { DeletedWorkspaces } from '../scope/deleted-workspaces.ts'
import { type Actor, PORTIONS } from '../scope/dependencies.ts'

/** The time between an action and the jobs it enqueued. */
const JOB_DELAY_MS = SECOND

/**
 * Runs the application on a clock that moves through the past of a workspace, so that its rows carry past times. Everything
 * happens in the transaction of the seed; jobs run in this process, right after the action that enqueued them.
 */
export class History {
  readonly workspaceId: string
  readonly #end: Date
  readonly #clock: PastClock
  readonly #jobs = new InlineJobQueue()
  readonly #system: SystemScope
  readonly #tasks: Tasks
  #lastMs = 0

  constructor(tx: Knex, { workspaceId, start, end }: { workspaceId: string; start: Date; end: Date }) {
    this.workspaceId = workspaceId
    this.#end = end
    this.#clock = new PastClock(start)
    const notifications = { publish: () => undefined, subscribe: () => () => undefined }
    this.#system = new SystemScope({
      connections: singleDatabase(tx),
      clock: this.#clock,
      log: createLogger('warn'),
      tracing: undefined,
      jobs: this.#jobs,
      notifications,
      singleFlight: createSingleFlight(),
      shared: new SharedObjects(),
      cache: new ExpiringCache(),
      deletedWorkspaces: new DeletedWorkspaces(notifications),
      // What a seed seals can be read by nobody, as the key of the installation is not known here.
      secrets: new Secrets([randomBytes(32).toString('hex')]),
      mail: { send: () => Promise.reject(new Error('the seed sends no mail')) },
      // The definitions of a seed need no budget.
      computePool: { run: async (task, input) => task.run(input) },
      portions: PORTIONS,
      allowsLoopback: false,
      // A seed has no files.
      files: {
        put: () => Promise.reject(new Error('the seed stores no files')),
        open: (key) => Promise.reject(new FileMissingError(key)),
        delete: () => Promise.resolve(),
      },
      uploads: { folder: '', disk: { isLow: () => Promise.resolve(false) }, mediaBytesMax: Infinity },
    })
    this.#tasks = createTasks(this.#system)
  }

  /**
   * Performs an action as of `agoMs` before the end, by default right after the one before it, then the jobs that it
   * enqueued.
   * @throws Error for a time before that of the previous action: what is newer would be older
   */
  async act<T>(agoMs: number | undefined, actor: Actor, action: (scope: Scope) => Promise<T>): Promise<T> {
    const nowMs = this.#clock.now().getTime()
    const atMs = agoMs === undefined ? nowMs : this.#end.getTime() - agoMs
    if (atMs < this.#lastMs) throw new Error('A seed acts in the order of time. Move this action before earlier ones')
    this.#lastMs = atMs
    this.#clock.moveTo(new Date(Math.max(atMs, nowMs)))
    const result = await action(this.#system.forTenant(this.workspaceId, actor))
    this.#clock.moveTo(addMs(this.#clock.now(), JOB_DELAY_MS))
    await this.#jobs.run(this.#tasks)
    return result
  }
}

class PastClock implements Clock {
  #now: Date

  constructor(start: Date) {
    this.#now = start
  }

  now(): Date {
    return this.#now
  }

  moveTo(time: Date): void {
    this.#now = time
  }
}

/** Keeps jobs in memory until they are run, one per key. */
class InlineJobQueue implements JobQueue {
  readonly #jobs = new Map<string, Job>()

  enqueue(jobs: readonly Job[]): void {
    for (const job of jobs) this.#jobs.set(toName(job), job)
  }

  /** Runs jobs, and those which they enqueue, until none is left. */
  async run(tasks: Tasks): Promise<void> {
    for (let [job] = this.#jobs.values(); job; [job] = this.#jobs.values()) {
      this.#jobs.delete(toName(job))
      const task = tasks[job.task]
      if (!task) throw new Error(`No task is named ${job.task}. Add it to src/jobs.ts.`)
      await task(job)
    }
  }
}

function toName({ task, key }: Job): string {
  return `${task}:${key}`
}
