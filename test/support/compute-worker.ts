import { createTaskHandler, defineTask } from '../../src/platform/compute/compute-task.ts'

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

export default createTaskHandler(Object.values(tasks).filter(({ name }) => name !== 'unregistered'))
