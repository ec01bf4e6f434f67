import { serialize } from 'node:v8'
import { parentPort } from 'node:worker_threads'
import { move } from 'piscina'

/** The result of a task is read back on the event loop, so its size is part of the budget. */
const RESULT_BYTES_MAX = 16_777_216

/**
 * A computation over data that customers or providers supply. It runs on a worker thread, so input and output are plain
 * data and `run` reaches nothing but its input: no database, no clock, no configuration.
 */
export type ComputeTask<Input, Output> = {
  name: string
  /** The longest execution, from the moment it starts. */
  deadlineMs: number
  /** The error text for a task that exceeds its time or memory: what was too expensive and how to make it cheaper. */
  budgetMessage: string
  run(input: Input): Output | Promise<Output>
}

export type TaskMessage = { id: number; name: string; input: unknown }
export type StartMessage = { startedTask: number }

export function defineTask<Input, Output>(task: ComputeTask<Input, Output>): ComputeTask<Input, Output> {
  return task
}

/** Returns the function that executes these tasks on a worker thread. */
export function createTaskHandler(tasks: readonly ComputeTask<unknown, unknown>[]) {
  const byName = new Map(tasks.map((task) => [task.name, task]))
  return async ({ id, name, input }: TaskMessage): Promise<unknown> => {
    const task = byName.get(name)
    if (!task) throw new Error(`The worker thread has no task "${name}". Add it to compute-worker.ts`)
    // The deadline covers the execution only: starting a thread takes longer than most tasks.
    parentPort?.postMessage({ startedTask: id } satisfies StartMessage)
    const bytes = serialize(await task.run(input))
    // Of an error, only the standard classes get to the other thread.
    if (bytes.byteLength > RESULT_BYTES_MAX) throw new RangeError('The result is too large')
    return move(bytes)
  }
}
