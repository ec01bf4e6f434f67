import { Worker } from 'node:worker_threads'
import type { TaskMessage, ThreadMessage } from './compute-task.ts'
import { readThreadMs } from './thread-time.ts'

const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }

type Execution = { resolve: (output: Uint8Array) => void; reject: (error: unknown) => void }

/** A worker thread that executes one task at a time. It never keeps the process running. */
export class ComputeThread {
  readonly #worker: Worker
  #threadId: number | undefined
  #execution: Execution | undefined
  #startMs = 0
  #usedMs = 0
  #isEnded = false

  constructor(module: URL, listeners: { onReady(): void; onFailure(error: unknown): void }) {
    // A thread that runs customers' input gets no secrets.
    this.#worker = new Worker(module, { resourceLimits: RESOURCE_LIMITS, env: {}, execArgv: [] })
    this.#worker.unref()
    this.#worker.on('message', (message: ThreadMessage) => {
      if ('threadId' in message) {
        this.#threadId = message.threadId
        listeners.onReady()
      } else this.#settle(message)
    })
    let failure: unknown
    this.#worker.on('error', (error) => (failure = error))
    this.#worker.once('exit', (code) => {
      if (this.#isEnded) return
      this.#isEnded = true
      const error = failure ?? new Error(`A compute thread exited with code ${code}`)
      listeners.onFailure(error)
      this.#settle({ error })
    })
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Thread time of the task that is executed, or was last. */
  get usedMs(): number {
    this.#measure()
    return this.#usedMs
  }

  execute(message: TaskMessage): Promise<Uint8Array> {
    this.#startMs = readThreadMs(this.#threadId)
    return new Promise((resolve, reject) => {
      this.#worker.postMessage(message)
      this.#execution = { resolve, reject }
      this.#usedMs = 0
    })
  }

  /** Fails the task with the error, and terminates the thread, since nothing else stops a loop in JavaScript. */
  async end(error: unknown): Promise<void> {
    this.#isEnded = true
    this.#settle({ error })
    await this.#worker.terminate()
  }

  #measure(): void {
    const usedMs = readThreadMs(this.#threadId) - this.#startMs
    // The time of a thread that has ended is not a number.
    if (this.#execution && usedMs > this.#usedMs) this.#usedMs = usedMs
  }

  #settle(result: { output: Uint8Array } | { error: unknown }): void {
    this.#measure()
    const execution = this.#execution
    this.#execution = undefined
    if ('output' in result) execution?.resolve(result.output)
    else execution?.reject(result.error)
  }
}
