export type Wakeup = { wake: () => void; wait: () => Promise<void> }

/** Creates a wait that `wake` ends. A `wake` without a waiter ends the next `wait` at once. */
export function createWakeup(): Wakeup {
  let isPending = false
  let resume: (() => void) | undefined
  return {
    wake: () => {
      isPending = true
      resume?.()
    },
    wait: async () => {
      if (!isPending) await new Promise<void>((resolve) => (resume = resolve))
      isPending = false
      resume = undefined
    },
  }
}
