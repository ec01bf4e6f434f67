import { withinTime } from '../concurrency/deadline.ts'
import { SharedSlots } from '../concurrency/shared-slots.ts'
import type { Logger } from '../log.ts'
import { metrics, observeSince } from '../metrics.ts'
import { Precedence } from './precedence.ts'
import { JOB_MAX_MS, type Job, type JobPlace, type Task, type Work } from './job-queue.ts'

/** Limits of the jobs of one task in this process. */
export type JobLimits = {
  /** Jobs at work. Few make each one do more, as a job does all that is due. */
  working: number
  /** Jobs of one key that have released their place, such as those that wait for a provider or take long. */
  releasedPerKey?: number
  /**
   * Jobs of all keys, at work and released, and their works. A workspace may have a quarter as many places as are free, so
   * that there are some for the others: one that takes all it gets has a fifth of the places, sixteen leave a fifth free.
   */
  all: number
  /** Tasks that come first: while a job of one is at work here, those of this task wait for some seconds. */
  after?: readonly string[]
}

/**
 * A job that takes longer, because it waits for a lock or on a connection that has fallen silent, releases its place: it
 * delays others only for so long.
 */
const HOLD_MAX_MS = 500

/** The part of the free places that a workspace may have. */
const SHARE = 1 / 4

type Options = {
  name: string
  task: Task
  limits: JobLimits
  log: Logger
  /** Called when a place has become free for which no job waits. */
  onFree?: () => void
  /** Called when no job is at work. */
  onRest?: () => void
  /** Returns true while a job of a task that comes first is at work. */
  isPreceded?: () => boolean
}

/**
 * Executes jobs of one task in the process that has enqueued them. Jobs with the same key are merged while they wait, and
 * at most one of a key is at work, so that what arrives meanwhile is done together by the next one. Workspaces take turns,
 * and within one its keys.
 */
export class JobExecutor {
  readonly #options: Options
  /** Jobs that wait by workspace and key, each in the order of their turns. */
  readonly #waiting = new Map<string, Map<string, Job>>()
  readonly #working = new Set<string>()
  /** The numbers of jobs that have released their place, by key. */
  readonly #released = new Map<string, number>()
  /** Places of jobs, at work and released, by workspace. */
  readonly #places: SharedSlots
  readonly #inProgress = new Set<Promise<void>>()
  readonly #precedence: Precedence
  #isStopped = false

  constructor(options: Options) {
    this.#options = options
    const { isPreceded = () => false } = options
    const countWaiting = () => [...this.#waiting.values()].reduce((count, { size }) => count + size, 0)
    this.#precedence = new Precedence({ isPreceded, countWaiting, onOverdue: () => this.#goOn() })
    this.#places = new SharedSlots({ width: options.limits.all, part: SHARE })
  }

  get isIdle(): boolean {
    return this.#waiting.size === 0 && this.#inProgress.size === 0
  }

  /** True if no job is at work. Those that wait have no room then, and others that only wait for a system may be in progress. */
  get isAtRest(): boolean {
    return this.#working.size === 0
  }

  /** The number of jobs that would start at once, unless their workspaces or keys have no room. */
  get free(): number {
    return this.#isStopped || this.#precedence.isClosed
      ? 0
      : Math.max(0, Math.min(this.#options.limits.working - this.#working.size, this.#places.free))
  }

  /** The number of jobs that may be added for now, some of which wait if no place is free. */
  get room(): number {
    return this.#isStopped ? 0 : Math.max(this.free, this.#options.limits.working - this.#waiting.size, 1)
  }

  /** Lists the workspaces and keys whose next jobs would wait although places are free. */
  listFull(): { tenantIds: string[]; keys: string[] } {
    const { releasedPerKey = Infinity } = this.#options.limits
    const tenantIds = this.#places.listKeys().filter((tenantId) => this.#places.countRoom(tenantId) === 0)
    const keys = [...this.#released].flatMap(([key, count]) => (count >= releasedPerKey ? key : []))
    return { tenantIds, keys }
  }

  add(job: Job): void {
    const jobs = this.#waiting.get(job.tenantId) ?? new Map<string, Job>()
    if (!jobs.has(job.key)) jobs.set(job.key, job)
    this.#waiting.set(job.tenantId, jobs)
    this.#startNext()
  }

  /**
   * Keeps a place for work that takes the place of a job of the key, as one that has released its own; undefined if all are
   * taken but those of jobs at work, or if the key has a job already: more is then done together by the next one. Until the
   * work has ended or the place is left, it is in progress.
   */
  reserve(job: Job): JobPlace | undefined {
    const { tenantId, key } = job
    const isWaiting = this.#waiting.get(tenantId)?.has(key) === true
    const hasJob = isWaiting || this.#working.has(key) || this.#released.has(key)
    const kept = this.#options.limits.working - this.#working.size
    if (this.#isStopped || hasJob || this.#places.countRoom(tenantId, kept) === 0) return undefined
    this.#released.set(key, 1)
    const free = this.#places.take([{ key: tenantId }])
    let use: (work?: Work) => void = () => undefined
    const place = new Promise<Work | undefined>((resolve) => (use = resolve))
    this.#track(this.#hold(job, { place, free }))
    return { take: use, leave: () => use() }
  }

  /** Has to be called when the tasks that come first may be at rest. */
  resume(): void {
    this.#precedence.resume()
    this.#goOn()
  }

  /** Starts no more jobs and returns those that wait, and the end of those in progress. */
  stop(): { waiting: Job[]; ended: Promise<unknown> } {
    this.#isStopped = true
    this.#precedence.stop()
    const waiting = [...this.#waiting.values()].flatMap((jobs) => [...jobs.values()])
    return { waiting, ended: this.#end() }
  }

  /** A job that is claiming begins works before it ends. */
  async #end(): Promise<void> {
    while (this.#inProgress.size > 0) await Promise.all(this.#inProgress)
  }

  #startNext(): void {
    while (!this.#isStopped && this.#waiting.size > 0 && this.#working.size < this.#options.limits.working) {
      if (this.#precedence.isClosed) return this.#precedence.wait()
      const job = this.#takeNext()
      if (!job) return
      this.#track(this.#execute(job))
    }
    if (this.#waiting.size === 0) this.#precedence.reset()
  }

  /** Starts the jobs for which a place has become free. */
  #goOn(): void {
    this.#startNext()
    if (this.free > 0) this.#options.onFree?.()
    if (this.isAtRest) this.#options.onRest?.()
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#inProgress.delete(tracked))
    this.#inProgress.add(tracked)
  }

  async #hold(
    { tenantId, key }: Job,
    { place, free }: { place: Promise<Work | undefined>; free: () => void },
  ): Promise<void> {
    const work = await place
    if (work) await this.#attempt(tenantId, work)
    this.#forgetReleased(key)
    free()
    this.#goOn()
  }

  /**
   * Passes over workspaces without a further place, which are at most as many as there are places, and over keys that have
   * jobs: it does not walk all that waits.
   */
  #takeNext(): Job | undefined {
    if (this.#places.free <= 0) return undefined
    for (const [workspace, jobs] of this.#waiting) {
      const job = this.#places.countRoom(workspace) > 0 ? this.#findNext(jobs) : undefined
      if (!job) continue
      jobs.delete(job.key)
      // The next turn of this workspace comes after those of the others.
      this.#waiting.delete(workspace)
      if (jobs.size > 0) this.#waiting.set(workspace, jobs)
      return job
    }
    return undefined
  }

  #findNext(jobs: Map<string, Job>): Job | undefined {
    const { releasedPerKey = Infinity } = this.#options.limits
    for (const [key, job] of jobs) {
      if (!this.#working.has(key) && (this.#released.get(key) ?? 0) < releasedPerKey) return job
    }
    return undefined
  }

  async #execute(job: Job): Promise<void> {
    const { tenantId, key } = job
    const free = this.#places.take([{ key: tenantId }])
    let isReleased = false
    this.#working.add(key)
    const release = () => {
      if (isReleased) return
      isReleased = true
      this.#working.delete(key)
      this.#released.set(key, (this.#released.get(key) ?? 0) + 1)
      this.#goOn()
    }
    const timer = setTimeout(release, HOLD_MAX_MS)
    const giveWay = this.#precedence.start()
    const spread = (claim: (limit: number) => Promise<Work[]>) => {
      free()
      return this.#spread(tenantId, claim)
    }
    await this.#attempt(tenantId, () => this.#options.task(job, { release, spread, giveWay }))
    clearTimeout(timer)
    if (isReleased) this.#forgetReleased(key)
    else this.#working.delete(key)
    free()
    this.#goOn()
  }

  /** Keeps all the places meanwhile that the claim may use. */
  async #spread(tenantId: string, claim: (limit: number) => Promise<Work[]>): Promise<boolean> {
    const shares = [{ key: tenantId }]
    const places = Array.from({ length: this.#places.countRoom(tenantId) }, () => this.#places.take(shares))
    const limit = places.length
    try {
      const works = await claim(limit)
      for (const work of works) this.#track(this.#workIn(tenantId, { free: places.pop(), work }))
      return works.length === limit
    } finally {
      for (const free of places) free()
      this.#goOn()
    }
  }

  async #workIn(tenantId: string, { free, work }: { free: (() => void) | undefined; work: Work }): Promise<void> {
    await this.#attempt(tenantId, work)
    free?.()
    this.#goOn()
  }

  async #attempt(tenantId: string, work: Work): Promise<void> {
    const { log, name } = this.#options
    const startMs = performance.now()
    try {
      await withinTime(JOB_MAX_MS, work())
      observeSince(metrics.job, { task: name, outcome: 'ok' }, startMs)
    } catch (error) {
      observeSince(metrics.job, { task: name, outcome: 'failed' }, startMs)
      const fields = { event: 'job_failed' as const, err: error, task: name, tenantId }
      log.warn(fields, 'a job failed; what is still due will be found')
    }
  }

  #forgetReleased(key: string): void {
    const count = (this.#released.get(key) ?? 0) - 1
    if (count > 0) this.#released.set(key, count)
    else this.#released.delete(key)
  }
}
