import { serialize } from 'node:v8'
import { parentPort } from 'node:worker_threads'
import { currentThreadId } from './thread-time.ts'

/** The result of a task is read back on the event loop, so its size is part of the budget. */
const RESULT_BYTES_MAX = 16_777_216

/**
 * A computation over data that customers or providers supply. It runs on a worker thread, so input and output are plain
 * data and `run` reaches nothing but its input: no database, no clock, no configuration.
 */
export type ComputeTask<Input, Output> = {
  name: string
  /** The longest execution, in thread time. */
  deadlineMs: number
  /** The error text for a task that exceeds its time or memory: what was too expensive and how to make it cheaper. */
  budgetMessage: string
  run(input: Input): Output | Promise<Output>
}

export type TaskMessage = { name: string; input: unknown }

/** The first message of a thread says that it is ready, and the others how its tasks have ended. */
export type ThreadMessage = { threadId: number | undefined } | { output: Uint8Array } | { error: unknown }

export function defineTask<Input, Output>(task: ComputeTask<Input, Output>): ComputeTask<Input, Output> {
  return task
}

/** Executes these tasks on the calling worker thread, one at a time. */
export function serveTasks(tasks: readonly ComputeTask<unknown, unknown>[]): void {
  const byName = new Map(tasks.map((task) => [task.name, task]))
  const execute = async ({ name, input }: TaskMessage): Promise<Uint8Array<ArrayBuffer>> => {
    const task = byName.get(name)
    if (!task) throw new Error(`The worker thread has no task "${name}". Add it to compute-worker.ts`)
    const output = serialize(await task.run(input))
    if (output.byteLength > RESULT_BYTES_MAX) throw new RangeError('The result is too large')
    return output
  }
  parentPort?.on('message', (message: TaskMessage) => {
    execute(message).then(
      (output) => post({ output }, [output.buffer]),
      // Of an error, only the standard classes get to the other thread.
      (error: unknown) => post({ error }),
    )
  })
  post({ threadId: currentThreadId() })
}

function post(message: ThreadMessage, moved: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, moved)
}
