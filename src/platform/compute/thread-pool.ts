import type { Logger } from '../log.ts'
import { MINUTE } from '../time.ts'
import { ComputeThread } from './compute-thread.ts'

/** An idle thread keeps some 60 MB. */
const IDLE_MS_MAX = 5 * MINUTE

type Options = {
  /** The module that executes the tasks, as JavaScript. */
  worker: URL
  log: Logger
  onReady(): void
  /** A thread could not start, so another one would fail as well. */
  onStartFailure(): void
}

/** The threads of a compute pool. Those that have been idle for five minutes are ended. */
export class ThreadPool {
  readonly #options: Options
  readonly #threads = new Set<ComputeThread>()
  /** Threads that are ready, the one that executed last at the end, with the timers that end them. */
  readonly #idle = new Map<ComputeThread, NodeJS.Timeout>()

  constructor(options: Options) {
    this.#options = options
  }

  /** The number of threads, including those that start. */
  get size(): number {
    return this.#threads.size
  }

  /** Threads that are ready, the one that executed last at the end. */
  get idle(): ComputeThread[] {
    return [...this.#idle.keys()]
  }

  start(): void {
    const { worker, log, onReady, onStartFailure } = this.#options
    let isReady = false
    const thread = new ComputeThread(worker, {
      onReady: () => {
        isReady = true
        this.release(thread)
        onReady()
      },
      onFailure: (error) => {
        const wasExecuting = isReady && !this.#idle.has(thread)
        this.#forget(thread)
        if (!wasExecuting)
          log.error({ event: 'compute_thread_failed', err: error }, 'a compute thread failed without a task')
        if (!isReady) onStartFailure()
      },
    })
    this.#threads.add(thread)
  }

  /** Takes an idle thread for a task. */
  take(thread: ComputeThread): void {
    clearTimeout(this.#idle.get(thread))
    this.#idle.delete(thread)
  }

  /** Makes a thread idle again. */
  release(thread: ComputeThread): void {
    const timer = setTimeout(() => void this.end(thread, undefined), IDLE_MS_MAX)
    this.#idle.set(thread, timer.unref())
  }

  /** Ends a thread, and fails its task with the error. */
  end(thread: ComputeThread, error: unknown): Promise<void> {
    this.#forget(thread)
    return thread.end(error)
  }

  async endAll(error: unknown): Promise<void> {
    await Promise.all([...this.#threads].map((thread) => this.end(thread, error)))
  }

  #forget(thread: ComputeThread): void {
    this.take(thread)
    this.#threads.delete(thread)
  }
}
