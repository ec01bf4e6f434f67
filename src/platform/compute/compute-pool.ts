import { deserialize } from 'node:v8'
import { BudgetExceededError, UnavailableError } from '../errors.ts'
import type { Logger } from '../log.ts'
import { SECOND } from '../time.ts'
import { type Computation, ComputeQueue, SLICE_MS } from './compute-queue.ts'
import type { ComputeTask, TaskMessage } from './compute-task.ts'
import type { ComputeThread } from './compute-thread.ts'
import { ThreadPool } from './thread-pool.ts'

const QUEUE_MS_MAX = 30 * SECOND
/** A thread that gets little of a processor is not looked at all the time. */
const CHECK_MS_MIN = 10
/** A machine too busy for a deadline of seconds within this time is not the fault of the task. */
const EXECUTION_MS_MAX = 30 * SECOND
const RETRY_AFTER_SECONDS = 5

type Options = {
  /** The module that executes the tasks, as JavaScript. */
  worker: URL
  threads: number
  log: Logger
}

/**
 * The workspace and the actor that a task is charged to: a member or API key that has requested it, from a network if that is known,
 * or else a live run.
 */
export type Charged = { tenantId: string; actor: { type: string; id: string | null; network?: string } }

type QueuedTask = Computation & {
  message: TaskMessage
  deadlineMs: number
  budgetMessage: string
  /** The part of its present execution that is charged. */
  chargedMs: number
  /** The end of its wait, or the next look at its execution. */
  timer?: NodeJS.Timeout
  resolve(output: Uint8Array): void
  reject(error: unknown): void
}

/**
 * Worker threads for computations whose cost customers or providers control. A task is queued, runs alone on a thread,
 * and completes or exceeds its deadline or memory limit. In the latter case its thread is terminated and replaced. No
 * thread exists before the first task.
 */
export class ComputePool {
  readonly #threadsMax: number
  readonly #queue: ComputeQueue<QueuedTask>
  readonly #threads: ThreadPool
  readonly #executing = new Map<QueuedTask, ComputeThread>()
  #isClosed = false

  constructor({ worker, threads, log }: Options) {
    this.#threadsMax = threads
    this.#queue = new ComputeQueue(threads)
    this.#threads = new ThreadPool({
      worker,
      log,
      onReady: () => this.#dispatch(),
      onStartFailure: () => this.#cancelAll(),
    })
  }

  /**
   * @throws BudgetExceededError if the task exceeds its deadline or its memory
   * @throws UnavailableError if too many tasks are queued, also later: a full queue serves all keys alike
   */
  async run<Input, Output>(task: ComputeTask<Input, Output>, input: Input, charged: Charged): Promise<Output> {
    const { name, deadlineMs, budgetMessage } = task
    const output = await new Promise<Uint8Array>((resolve, reject) => {
      const queued: QueuedTask = {
        keys: toKeys(charged),
        isLive: !isRequest(charged.actor),
        isLong: false,
        isRepeated: false,
        cancel: () => this.#cancel(queued),
        message: { name, input },
        deadlineMs,
        budgetMessage,
        chargedMs: 0,
        resolve,
        reject,
      }
      if (this.#isClosed || !this.#queue.add(queued)) return reject(overloadedError())
      this.#limitWait(queued)
      this.#dispatch()
    })
    return deserialize(output)
  }

  countTasks(): { queued: number; running: number } {
    return { queued: this.#queue.queued.length, running: this.#executing.size }
  }

  /** Ends all threads. Tasks that run or are queued fail with UnavailableError. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelAll()
    await this.#threads.endAll(overloadedError())
  }

  /** Starts tasks on the threads that are ready, and more threads if tasks wait. */
  #dispatch(): void {
    if (this.#isClosed) return
    for (const thread of this.#threads.idle.reverse()) {
      const yielding = this.#queue.findYielding()
      if (yielding) this.#putBack(yielding)
      const hasStandby = yielding !== undefined || this.#threads.idle.length > 1
      const next = this.#queue.findNext({ hasStandby })
      if (next) this.#execute(next, thread)
    }
    const waiting = this.#queue.countWaitingKeys()
    // A thread more than may execute at once, as starting one takes longer than most tasks.
    const standby = waiting > 0 && this.#queue.isOnLastThread ? 1 : 0
    this.#startThreads({ free: waiting + standby, max: this.#threadsMax + standby })
  }

  #execute(task: QueuedTask, thread: ComputeThread): void {
    clearTimeout(task.timer)
    this.#threads.take(thread)
    this.#queue.start(task)
    this.#executing.set(task, thread)
    task.chargedMs = 0
    this.#watch(task, thread)
    thread.execute(task.message).then(
      (output) => this.#finish(task, thread, () => task.resolve(output)),
      (error: unknown) => this.#finish(task, thread, () => task.reject(toPublicError(error, task))),
    )
  }

  #finish(task: QueuedTask, thread: ComputeThread, settle: () => void): void {
    // It may have been put back into the queue.
    if (this.#executing.get(task) !== thread) return
    this.#stopExecuting(task, thread)
    this.#queue.end(task)
    if (thread.isEnded) this.#startThreads({ free: 1, max: this.#threadsMax })
    else this.#threads.release(thread)
    settle()
    this.#dispatch()
  }

  #putBack(task: QueuedTask): void {
    const thread = this.#executing.get(task)
    if (!thread) return
    this.#stopExecuting(task, thread)
    this.#queue.putBack(task)
    this.#limitWait(task)
    void this.#threads.end(thread, new Error('The task was put back'))
  }

  #stopExecuting(task: QueuedTask, thread: ComputeThread): void {
    clearTimeout(task.timer)
    this.#charge(task, thread)
    this.#executing.delete(task)
  }

  /** Charges the time of a task while it runs, and ends it at its deadline. */
  #watch(task: QueuedTask, thread: ComputeThread): void {
    const startMs = performance.now()
    const check = () => {
      if (this.#executing.get(task) !== thread) return
      const usedMs = this.#charge(task, thread)
      if (usedMs >= task.deadlineMs) return void this.#threads.end(thread, new BudgetExceededError(task.budgetMessage))
      if (performance.now() - startMs >= EXECUTION_MS_MAX) return void this.#threads.end(thread, overloadedError())
      schedule(usedMs)
      if (task.isLong) this.#dispatch()
    }
    const schedule = (usedMs: number) => {
      const sliceMs = usedMs < SLICE_MS ? SLICE_MS - usedMs : SLICE_MS
      // An overdue timer fires before the messages that arrived meanwhile are read: look at those first.
      const delayMs = Math.max(CHECK_MS_MIN, Math.min(sliceMs, task.deadlineMs - usedMs))
      task.timer = setTimeout(() => setImmediate(check), delayMs)
    }
    schedule(0)
  }

  #charge(task: QueuedTask, thread: ComputeThread): number {
    const { usedMs } = thread
    if (usedMs >= SLICE_MS) task.isLong = true
    this.#queue.charge(task, usedMs - task.chargedMs)
    task.chargedMs = usedMs
    return usedMs
  }

  #limitWait(task: QueuedTask): void {
    task.timer = setTimeout(task.cancel, QUEUE_MS_MAX)
  }

  #cancel(task: QueuedTask): void {
    clearTimeout(task.timer)
    this.#queue.remove(task)
    task.reject(overloadedError())
  }

  #cancelAll(): void {
    for (const queued of this.#queue.queued) queued.cancel()
  }

  /** Starts threads until so many execute nothing, and there are at most `max`. */
  #startThreads({ free, max }: { free: number; max: number }): void {
    while (!this.#isClosed && this.#threads.size < Math.min(max, this.#executing.size + free)) this.#threads.start()
  }
}

/** Runs and the system do live work; members and API keys request a task. */
function isRequest({ type }: Charged['actor']): boolean {
  return type === 'user' || type === 'key'
}

/** Returns the keys of a task. A live run has one of its own, apart from what is requested in its workspace. */
function toKeys({ tenantId, actor }: Charged): Computation['keys'] {
  if (!isRequest(actor)) return [`live ${tenantId}`]
  const networks = actor.network === undefined ? [] : [`network ${actor.network}`]
  return [`tenant ${tenantId}`, `user ${actor.id}`, ...networks]
}

function toPublicError(error: unknown, { budgetMessage }: QueuedTask): unknown {
  return isOverBudget(error) ? new BudgetExceededError(budgetMessage, { cause: error }) : error
}

/** Out of memory, out of stack, or with a result too large to hand over. */
function isOverBudget(error: unknown): boolean {
  const isOutOfMemory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
  return isOutOfMemory || error instanceof RangeError
}

function overloadedError(): UnavailableError {
  const message = 'Too many computations are waiting. Try again in a few seconds'
  return new UnavailableError(message, RETRY_AFTER_SECONDS)
}
