import { setTimeout as delay } from 'node:timers/promises'
import { SECOND } from '../../src/platform/time.ts'

const TIMEOUT_MS = 60 * SECOND

/**
 * Polls until the condition holds, for changes in another process that sends no notification. It times out on its own,
 * because mocha does not stop a test that has timed out, and polling forever would keep the process alive.
 */
export async function waitUntil(condition: () => boolean | Promise<boolean>, timeoutMs = TIMEOUT_MS): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`The condition did not hold within ${timeoutMs / SECOND} seconds`)
    await delay(5)
  }
}

const REPETITIONS = 5

/**
 * Repeats what a busy machine can spoil and never improve, until the result is as it should be, at most five times.
 * Returns the last result.
 */
export async function repeatUntil<Result>(
  execute: () => Promise<Result>,
  isFine: (result: Result) => boolean,
): Promise<Result> {
  for (let repetition = 1; repetition < REPETITIONS; repetition += 1) {
    const result = await execute()
    if (isFine(result)) return result
  }
  return execute()
}
