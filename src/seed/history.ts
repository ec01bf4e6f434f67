import { randomBytes } from 'node:crypto'
import type { Knex } from 'knex'
import { createTasks } from '../../src/jobs.ts'
import { ExpiringCache } from '../../src/platform/concurrency/expiring-cache.ts'
import { SharedObjects } from '../../src/platform/concurrency/shared-objects.ts'
import { createSingleFlight } from '../../src/platform/concurrency/batcher.ts'
import { FileMissingError } from '../../src/platform/files/file-store.ts'
import { singleDatabase } from '../../src/platform/database/pools/connection-pool.ts'
import type { Job, JobQueue, Tasks } from '../../src/platform/jobs/job-queue.ts'
import { createLogger } from '../../src/platform/log.ts'
import { Secrets } from '../../src/platform/security/secrets.ts'
import { addMs, type Clock, SECOND } from '../../src/platform/time.ts'
import type { Scope } from '../../src/scope/scope.ts'
import { SystemScope } from '../../src/scope/system-scope.ts'
import { DeletedWorkspaces } from '../../src/scope/deleted-workspaces.ts'
import { type Actor, PORTIONS } from '../../src/scope/dependencies.ts'
import { DEMO } from './ids.ts'

/** The time between an action and the jobs it enqueued. */
const JOB_DELAY_MS = SECOND

/**
 * Runs the application on a clock that moves through the past, so that its rows carry past times. Everything happens in
 * the seed's transaction; jobs run in this process, right after the action that enqueued them.
 */
export class History {
  readonly #end: Date
  readonly #clock: PastClock
  readonly #jobs = new InlineJobQueue()
  readonly #system: SystemScope
  readonly #tasks: Tasks

  constructor(tx: Knex, end: Date) {
    this.#end = end
    this.#clock = new PastClock()
    const notifications = { publish: () => undefined, subscribe: () => () => undefined }
    this.#system = new SystemScope({
      connections: singleDatabase(tx),
      clock: this.#clock,
      log: createLogger('warn'),
      jobs: this.#jobs,
      notifications,
      singleFlight: createSingleFlight(),
      shared: new SharedObjects(),
      cache: new ExpiringCache(),
      deletedWorkspaces: new DeletedWorkspaces(notifications),
      // The demo workspace stores no credentials, so nothing is ever sealed with this key.
      secrets: new Secrets(randomBytes(32).toString('hex')),
      mail: { send: () => Promise.reject(new Error('the seed sends no mail')) },
      // The seed's own definitions need no budget.
      computePool: { run: async (task, input) => task.run(input) },
      portions: PORTIONS,
      allowsLoopback: false,
      // The demo workspace has no files.
      files: {
        put: () => Promise.reject(new Error('the seed stores no files')),
        open: (key) => Promise.reject(new FileMissingError(key)),
        delete: () => Promise.resolve(),
      },
      uploads: { folder: '', disk: { isLow: () => Promise.resolve(false) }, mediaBytesMax: Infinity },
    })
    this.#tasks = createTasks(this.#system)
  }

  /** Performs an action as of `agoMs` before the end, then the jobs it enqueued. Call it in chronological order. */
  async act<T>(agoMs: number, actor: Actor, action: (scope: Scope) => Promise<T>): Promise<T> {
    this.#clock.moveTo(addMs(this.#end, -agoMs))
    const result = await action(this.#system.forTenant(DEMO.workspaceId, actor))
    this.#clock.moveTo(addMs(this.#clock.now(), JOB_DELAY_MS))
    await this.#jobs.run(this.#tasks)
    return result
  }
}

class PastClock implements Clock {
  #now = new Date(0)

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
