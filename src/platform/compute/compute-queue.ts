import { SECOND } from '../time.ts'
import { RecentUsage } from './recent-usage.ts'

const QUEUED_MAX = 256
const QUEUED_PER_KEY_MAX = 32
/** Thread time after which a computation is a long one. A simulation of 200 messages takes less. */
export const SLICE_MS = 100
/** Keys with long computations that have used more do not get the last thread while the others run long ones. */
const LIGHT_MS_MAX = SECOND

export type Computation = {
  /** Names of those that its thread time is charged to. Of the same first key, one runs at a time. */
  readonly keys: readonly [string, ...string[]]
  /** True if a live run waits for it, false if a request does. */
  readonly isLive: boolean
  /** True once it has run for a slice, also after it was put back. */
  isLong: boolean
  /** True after it was ended to make room for another one, which happens once. */
  isRepeated: boolean
  /** Fails it for lack of room. */
  cancel(): void
}

/** Kinds of keys by what is known about their computations, in the order of those that have used equally much. */
const KIND = { short: 0, new: 1, long: 2 } as const
type Kind = (typeof KIND)[keyof typeof KIND]

/**
 * Decides which computation starts next, by the thread time that their keys have used lately: least first, however many
 * of a key are queued. How long one takes is not known before, so computations of keys with long ones get all threads
 * but one, and the last thread is risked for a new key only if another thread stands by or nothing else has started since.
 */
export class ComputeQueue<T extends Computation> {
  /** With the number of computations that had started by then, the oldest first. */
  readonly #queued = new Map<T, number>()
  /** In the order in which they have started. */
  readonly #running = new Set<T>()
  readonly #usage = new RecentUsage()
  readonly #threads: number
  #startedCount = 0

  constructor(threads: number) {
    this.#threads = threads
  }

  get queued(): T[] {
    return [...this.#queued.keys()]
  }

  /** True if all threads but one, or all, run long computations. */
  get isOnLastThread(): boolean {
    return [...this.#running].filter(({ isLong }) => isLong).length >= this.#threads - 1
  }

  /** Counts the first keys of queued computations of which none runs. */
  countWaitingKeys(): number {
    const busyKeys = this.#listBusyKeys()
    return new Set(this.queued.map(({ keys }) => keys[0]).filter((key) => !busyKeys.has(key))).size
  }

  /** Queues a computation and returns true, unless there is no room. In a full queue, it may take the place of another. */
  add(computation: T): boolean {
    const size = this.#countQueued(computation)
    const hasRoom = size < QUEUED_PER_KEY_MAX && (this.#queued.size < QUEUED_MAX || this.#makeRoom(computation, size))
    if (hasRoom) this.#queued.set(computation, this.#startedCount)
    return hasRoom
  }

  remove(computation: T): void {
    this.#queued.delete(computation)
  }

  /** Returns the computation that starts next on a free thread; undefined if none may. */
  findNext({ hasStandby }: { hasStandby: boolean }): T | undefined {
    return this.#running.size < this.#threads ? this.#findFirst(hasStandby) : undefined
  }

  /**
   * Returns the running computation to end so that an urgent one can start on the thread that stands by, if all threads
   * run long ones: the one that has started last, as it loses least.
   */
  findYielding(): T | undefined {
    if (this.#running.size < this.#threads || [...this.#running].some(({ isLong }) => !isLong)) return undefined
    const next = this.#findFirst(true)
    if (!next || !this.#isUrgent(next)) return undefined
    return [...this.#running].filter(({ isRepeated }) => !isRepeated).at(-1)
  }

  start(computation: T): void {
    this.#queued.delete(computation)
    this.#running.add(computation)
    this.#startedCount += 1
  }

  charge({ keys, isLong }: T, ms: number): void {
    this.#usage.add(keys, ms, isLong)
  }

  end(computation: T): void {
    this.#running.delete(computation)
  }

  /** Puts a running computation back, to be repeated as a long one. */
  putBack(computation: T): void {
    computation.isRepeated = true
    this.#running.delete(computation)
    this.#queued.set(computation, this.#startedCount)
  }

  #findFirst(hasStandby: boolean): T | undefined {
    const busyKeys = this.#listBusyKeys()
    const startable = this.queued.filter((computation) => {
      if (busyKeys.has(computation.keys[0]) || !this.#mayStart(computation, hasStandby)) return false
      // The older ones of a key come first.
      busyKeys.add(computation.keys[0])
      return true
    })
    const orders = startable.map((computation, index) => ({ computation, order: this.#order(computation, index) }))
    return orders.sort((a, b) => compare(a.order, b.order))[0]?.computation
  }

  #mayStart(computation: T, hasStandby: boolean): boolean {
    if (!this.isOnLastThread || this.#isUrgent(computation)) return true
    const isLight = this.#kind(computation) !== KIND.long || this.#usedMs(computation) < LIGHT_MS_MAX
    return hasStandby && isLight && !computation.isLong
  }

  /** True if those of its keys are short, or if its keys are new and nothing has started since it came. */
  #isUrgent(computation: T): boolean {
    const kind = this.#kind(computation)
    return kind === KIND.short || (kind === KIND.new && this.#queued.get(computation) === this.#startedCount)
  }

  /** Live runs have long computations only once they have used much: the first one on a slow machine takes a slice too. */
  #kind(computation: T): Kind {
    const usedMs = this.#usedMs(computation)
    const isLightRun = computation.isLive && !computation.isLong && usedMs < LIGHT_MS_MAX
    if (this.#usage.hasLong(computation.keys) && !isLightRun) return KIND.long
    return usedMs > 0 ? KIND.short : KIND.new
  }

  /** Returns what is compared. Of new keys the newest comes first, so that many that come at once do not delay those behind them. */
  #order(computation: T, index: number): number[] {
    const kind = this.#kind(computation)
    const usedMs = this.#usedMs(computation)
    const rank = kind === KIND.short ? Math.max(0, usedMs - LIGHT_MS_MAX) : usedMs
    return [rank, kind, computation.isLive ? 0 : 1, kind === KIND.new ? -index : index]
  }

  #listBusyKeys(): Set<string> {
    return new Set([...this.#running].map(({ keys }) => keys[0]))
  }

  #usedMs({ keys }: T): number {
    return this.#usage.maxMs(keys)
  }

  /** Counts the queued computations of that of its keys which has the most. */
  #countQueued({ keys }: T): number {
    return Math.max(...keys.map((key) => this.queued.filter((one) => one.keys.includes(key)).length))
  }

  /**
   * Cancels the newest computation of the key with the most, if that still leaves it more than a key with `size` has;
   * otherwise one whose keys have used more thread time, if there is one.
   */
  #makeRoom(computation: T, size: number): boolean {
    const sizes = this.queued.map((one) => ({ one, size: this.#countQueued(one) }))
    const longest = sizes.reduce((a, b) => (b.size >= a.size ? b : a))
    const heaviest = this.queued.reduce((a, b) => (this.#usedMs(b) >= this.#usedMs(a) ? b : a))
    const isHeavier = this.#usedMs(heaviest) > this.#usedMs(computation)
    const displaced = longest.size > size + 1 ? longest.one : isHeavier ? heaviest : undefined
    displaced?.cancel()
    return displaced !== undefined
  }
}

function compare(a: number[], b: number[]): number {
  const at = a.findIndex((value, index) => value !== b[index])
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0)
}
