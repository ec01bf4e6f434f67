import { defineTask, serveTasks } from '../../src/platform/compute/compute-task.ts'
import { currentThreadId, readThreadMs } from '../../src/platform/compute/thread-time.ts'

const BUDGET = { deadlineMs: 60_000, budgetMessage: 'too expensive' }

/** Tasks that misbehave in each way in which what a customer supplies can. */
export const tasks = {
  echo: defineTask({ ...BUDGET, name: 'echo', run: (value: unknown) => value }),
  fail: defineTask({
    ...BUDGET,
    name: 'fail',
    run: (message: string): string => {
      throw new Error(message)
    },
  }),
  loop: defineTask({
    ...BUDGET,
    name: 'loop',
    deadlineMs: 200,
    run: () => {
      for (;;);
    },
  }),
  /** Counts that it starts, and never ends. */
  spin: defineTask({
    ...BUDGET,
    name: 'spin',
    run: (starts: SharedArrayBuffer) => {
      Atomics.add(new Int32Array(starts), 0, 1)
      for (;;);
    },
  }),
  /** Counts that it starts, writes how much thread time it has used, and ends after so much. */
  burn: defineTask({
    ...BUDGET,
    name: 'burn',
    run: ({ shared, ms }: { shared: SharedArrayBuffer; ms: number }) => {
      const [thread, progress] = [currentThreadId(), new Int32Array(shared)]
      Atomics.add(progress, 0, 1)
      const startMs = readThreadMs(thread)
      for (let usedMs = 0; usedMs < ms; usedMs = readThreadMs(thread) - startMs) Atomics.store(progress, 1, usedMs)
      return 'done'
    },
  }),
  /** Waits until it is told to go on, without using the thread. */
  wait: defineTask({
    ...BUDGET,
    name: 'wait',
    deadlineMs: 150,
    run: (shared: SharedArrayBuffer) => Atomics.wait(new Int32Array(shared), 0, 0),
  }),
  allocate: defineTask({
    ...BUDGET,
    name: 'allocate',
    run: () => {
      const kept: unknown[] = []
      for (;;) kept.push([...Array(1_000_000).keys()])
    },
  }),
  recurse: defineTask({ ...BUDGET, name: 'recurse', run: recurse }),
  largeResult: defineTask({ ...BUDGET, name: 'large-result', run: (length: number) => 'x'.repeat(length) }),
  unregistered: defineTask({ ...BUDGET, name: 'unregistered', run: () => null }),
  environment: defineTask({ ...BUDGET, name: 'environment', run: () => Object.keys(process.env) }),
  /** Answers when all parties have written their bit. */
  meet: defineTask({
    ...BUDGET,
    name: 'meet',
    run: ({ shared, bit, all }: { shared: SharedArrayBuffer; bit: number; all: number }) => {
      const bits = new Int32Array(shared)
      for (let present = Atomics.or(bits, 0, bit) | bit; present !== all; present = Atomics.load(bits, 0)) {
        Atomics.notify(bits, 0)
        Atomics.wait(bits, 0, present)
      }
      Atomics.notify(bits, 0)
      return bit
    },
  }),
}

function recurse(depth: number): number {
  return recurse(depth + 1) + 1
}

serveTasks(Object.values(tasks).filter(({ name }) => name !== 'unregistered'))
