import { withinTime } from '../concurrency/deadline.ts'
import type { Logger } from '../log.ts'
import { JOB_MAX_MS, type Job, type JobPlace, type Task } from './job-queue.ts'

/** Limits of the jobs of one task in this process. */
export type LocalLimits = {
  /** Jobs at work. Few make each one do more, as a job does all that is due. */
  working: number
  /** Jobs of one key that have released their place, such as those that wait for a provider or take long. */
  releasedPerKey?: number
  /**
   * Jobs of all keys, at work and released. A workspace may have a quarter as many places as are free, so that there are
   * some for the others: one that takes all it gets has a fifth of the places, sixteen leave a fifth free.
   */
  all?: number
}

/**
 * A job that takes longer, because it waits for a lock or on a connection that has fallen silent, releases its place: it
 * delays others only for so long.
 */
const HOLD_MAX_MS = 500

/** The part of the free places that a workspace may have. */
const SHARE = 1 / 4

type Options = { name: string; task: Task; limits: LocalLimits; log: Logger }

/**
 * Executes jobs of one task in the process that has enqueued them. Jobs with the same key are merged while they wait, and
 * at most one of a key is at work, so that what arrives meanwhile is done together by the next one. Workspaces take turns,
 * and within one its keys.
 */
export class LocalJobs {
  readonly #options: Options
  /** Jobs that wait by workspace and key, each in the order of their turns. */
  readonly #waiting = new Map<string, Map<string, Job>>()
  readonly #working = new Set<string>()
  /** The numbers of jobs that have released their place, by key. */
  readonly #released = new Map<string, number>()
  /** The numbers of jobs, at work and released, by workspace. */
  readonly #places = new Map<string, number>()
  #placesTaken = 0
  readonly #inProgress = new Set<Promise<void>>()
  #isStopped = false

  constructor(options: Options) {
    this.#options = options
  }

  get isIdle(): boolean {
    return this.#waiting.size === 0 && this.#inProgress.size === 0
  }

  add(job: Job): void {
    const workspace = toWorkspace(job)
    const jobs = this.#waiting.get(workspace) ?? new Map<string, Job>()
    if (!jobs.has(job.key)) jobs.set(job.key, job)
    this.#waiting.set(workspace, jobs)
    this.#startNext()
  }

  /**
   * Keeps a place for work that takes the place of a job of the key, as one that has released its own; undefined if all are
   * taken but those of jobs at work, or if the key has a job already: more is then done together by the next one. Until the
   * work has ended or the place is left, it is in progress.
   */
  reserve(job: Job): JobPlace | undefined {
    const { key } = job
    const isWaiting = this.#waiting.get(toWorkspace(job))?.has(key) === true
    const hasJob = isWaiting || this.#working.has(key) || this.#released.has(key)
    if (
      this.#isStopped ||
      hasJob ||
      !this.#hasPlace(toWorkspace(job), this.#options.limits.working - this.#working.size)
    )
      return undefined
    this.#released.set(key, 1)
    this.#countPlace(job, 1)
    let use: (work?: () => Promise<void>) => void = () => undefined
    const place = new Promise<(() => Promise<void>) | undefined>((resolve) => (use = resolve))
    this.#track(this.#hold(job, place))
    return { take: use, leave: () => use() }
  }

  /** Starts no more jobs and returns those that wait, and the end of those in progress. */
  stop(): { waiting: Job[]; ended: Promise<unknown> } {
    this.#isStopped = true
    const waiting = [...this.#waiting.values()].flatMap((jobs) => [...jobs.values()])
    return { waiting, ended: Promise.all(this.#inProgress) }
  }

  #startNext(): void {
    while (!this.#isStopped && this.#working.size < this.#options.limits.working) {
      const job = this.#takeNext()
      if (!job) return
      this.#track(this.#execute(job))
    }
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#inProgress.delete(tracked))
    this.#inProgress.add(tracked)
  }

  async #hold(job: Job, place: Promise<(() => Promise<void>) | undefined>): Promise<void> {
    const work = await place
    if (work) await this.#attempt(work)
    this.#forgetReleased(job.key)
    this.#countPlace(job, -1)
    this.#startNext()
  }

  /**
   * Passes over workspaces without a further place, which are at most as many as there are places, and over keys that have
   * jobs: it does not walk all that waits.
   */
  #takeNext(): Job | undefined {
    if (this.#freePlaces <= 0) return undefined
    for (const [workspace, jobs] of this.#waiting) {
      const job = this.#hasPlace(workspace) ? this.#findNext(jobs) : undefined
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

  get #freePlaces(): number {
    return (this.#options.limits.all ?? Infinity) - this.#placesTaken
  }

  /** True if the workspace may have a further place, of which `kept` are for other jobs. */
  #hasPlace(workspace: string, kept = 0): boolean {
    return (this.#places.get(workspace) ?? 0) < (this.#freePlaces - kept) * SHARE
  }

  #countPlace(job: Job, change: 1 | -1): void {
    const workspace = toWorkspace(job)
    const count = (this.#places.get(workspace) ?? 0) + change
    this.#placesTaken += change
    if (count > 0) this.#places.set(workspace, count)
    else this.#places.delete(workspace)
  }

  async #execute(job: Job): Promise<void> {
    const { key, payload } = job
    let isReleased = false
    this.#working.add(key)
    this.#countPlace(job, 1)
    const release = () => {
      if (isReleased) return
      isReleased = true
      this.#working.delete(key)
      this.#released.set(key, (this.#released.get(key) ?? 0) + 1)
      this.#startNext()
    }
    const timer = setTimeout(release, HOLD_MAX_MS)
    await this.#attempt(() => this.#options.task(payload, { release }))
    clearTimeout(timer)
    if (isReleased) this.#forgetReleased(key)
    else this.#working.delete(key)
    this.#countPlace(job, -1)
    this.#startNext()
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await withinTime(JOB_MAX_MS, work())
    } catch (error) {
      const { log, name } = this.#options
      log.warn({ err: error, task: name }, 'a job failed; what is still due will be found')
    }
  }

  #forgetReleased(key: string): void {
    const count = (this.#released.get(key) ?? 0) - 1
    if (count > 0) this.#released.set(key, count)
    else this.#released.delete(key)
  }
}

function toWorkspace({ key, payload }: Job): string {
  return payload['tenantId'] ?? key
}
