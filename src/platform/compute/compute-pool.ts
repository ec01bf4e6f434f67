import { deserialize } from 'node:v8'
import { Piscina } from 'piscina'
import { BudgetExceededError, UnavailableError } from '../errors.ts'
import { FairScheduler } from '../jobs/fair-scheduler.ts'
import type { Logger } from '../log.ts'
import { MINUTE, SECOND } from '../time.ts'
import type { ComputeTask, StartMessage, TaskMessage } from './compute-task.ts'

const QUEUE_MAX = 256
const QUEUE_PER_KEY_MAX = 32
const QUEUE_MS_MAX = 30 * SECOND
/** A busy machine takes seconds to start a thread. */
const START_MS_MAX = 30 * SECOND
/** An idle thread keeps some 60 MB. */
const IDLE_MS_MAX = 5 * MINUTE
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }
const RETRY_AFTER_SECONDS = 5

type Options = {
  /** The module that executes the tasks, as JavaScript. */
  worker: URL
  threads: number
  log: Logger
}

type RunOptions = {
  /** The tenant: each has at most one task running, and tenants are served round-robin. */
  key: string
  deadlineMs?: number
}

type QueuedTask = { execute: () => Promise<void>; cancel: (error: Error) => void }

/**
 * Worker threads for computations whose cost customers or providers control. A task is queued, runs alone on a thread,
 * and completes or exceeds its deadline or memory limit. In the latter case its thread is terminated and replaced, since
 * nothing else stops a loop in JavaScript. No thread exists before the first task.
 */
export class ComputePool {
  readonly #piscina: Piscina<TaskMessage, Uint8Array>
  readonly #scheduler: FairScheduler
  readonly #queues = new Map<string, Set<QueuedTask>>()
  /** By task id: starts the clock of the deadline. */
  readonly #onStart = new Map<number, () => void>()
  #queued = 0
  #lastId = 0
  #isClosed = false

  constructor({ worker, threads, log }: Options) {
    this.#piscina = new Piscina({
      filename: worker.href,
      minThreads: 0,
      maxThreads: threads,
      idleTimeout: IDLE_MS_MAX,
      resourceLimits: RESOURCE_LIMITS,
      recordTiming: false,
      // A thread that runs customers' input gets no secrets.
      env: {},
      execArgv: [],
    })
    this.#piscina.on('message', ({ startedTask }: StartMessage) => this.#onStart.get(startedTask)?.())
    this.#piscina.on('error', (error: unknown) => log.error({ err: error }, 'a compute thread failed without a task'))
    this.#scheduler = new FairScheduler({
      max: threads,
      maxPerKey: 1,
      take: async (key, limit) => this.#dequeue(key, limit),
    })
  }

  /**
   * @throws BudgetExceededError if the task exceeds its deadline or its memory
   * @throws UnavailableError if too many tasks are queued, also later: a full queue serves all keys alike
   */
  run<Input, Output>(task: ComputeTask<Input, Output>, input: Input, options: RunOptions): Promise<Output> {
    const { key } = options
    const queue = this.#queues.get(key) ?? new Set()
    const hasRoom = queue.size < QUEUE_PER_KEY_MAX && (this.#queued < QUEUE_MAX || this.#makeRoom(queue.size))
    if (this.#isClosed || !hasRoom) return Promise.reject(overloadedError())
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => queued.cancel(overloadedError()), QUEUE_MS_MAX)
      const remove = () => {
        clearTimeout(timer)
        if (!queue.delete(queued)) return
        this.#queued -= 1
        if (queue.size === 0) this.#queues.delete(key)
      }
      const queued: QueuedTask = {
        execute: () => {
          remove()
          return this.#execute(task, input, options.deadlineMs ?? task.deadlineMs).then(resolve, reject)
        },
        cancel: (error) => {
          remove()
          reject(error)
        },
      }
      queue.add(queued)
      this.#queues.set(key, queue)
      this.#queued += 1
      void this.#scheduler.schedule(key)
    })
  }

  /** Ends all threads. Tasks that run or are queued fail with UnavailableError. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const queue of this.#queues.values()) for (const queued of queue) queued.cancel(overloadedError())
    await this.#piscina.destroy()
  }

  /** Cancels the newest task of the key with the most, if that still leaves it more than a key with `size` tasks has. */
  #makeRoom(size: number): boolean {
    const longest = [...this.#queues.values()].reduce((a, b) => (b.size > a.size ? b : a))
    if (longest.size <= size + 1) return false
    ;[...longest].at(-1)?.cancel(overloadedError())
    return true
  }

  #dequeue(key: string, limit: number): (() => Promise<void>)[] {
    const queue = this.#queues.get(key) ?? []
    return [...queue].slice(0, limit).map((queued) => queued.execute)
  }

  async #execute<Input, Output>(
    { name, budgetMessage }: ComputeTask<Input, Output>,
    input: Input,
    deadlineMs: number,
  ): Promise<Output> {
    const id = ++this.#lastId
    const controller = new AbortController()
    let isStarted = false
    // An overdue timer fires before the messages that arrived meanwhile are read: look at those first.
    const abort = () => setImmediate(() => controller.abort())
    let timer = setTimeout(abort, START_MS_MAX)
    this.#onStart.set(id, () => {
      isStarted = true
      clearTimeout(timer)
      timer = setTimeout(abort, deadlineMs)
    })
    try {
      return deserialize(await this.#piscina.run({ id, name, input }, { signal: controller.signal }))
    } catch (error) {
      if (this.#isClosed) throw overloadedError(error)
      if (controller.signal.aborted && !isStarted) throw overloadedError(error)
      if (controller.signal.aborted || isOverBudget(error))
        throw new BudgetExceededError(budgetMessage, { cause: error })
      throw error
    } finally {
      clearTimeout(timer)
      this.#onStart.delete(id)
    }
  }
}

/** Out of memory, out of stack, or with a result too large to hand over. */
function isOverBudget(error: unknown): boolean {
  const isOutOfMemory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
  return isOutOfMemory || error instanceof RangeError
}

function overloadedError(cause?: unknown): UnavailableError {
  const message = 'Too many computations are waiting. Try again in a few seconds'
  return new UnavailableError(message, RETRY_AFTER_SECONDS, { cause })
}
