export type Wakeup = { wake: () => void; wait: (ms: number) => Promise<void> }

/** Creates a timer that `wake` ends early. A `wake` without a waiter ends the next `wait` at once. */
export function createWakeup(): Wakeup {
  let isPending = false
  let resume: (() => void) | undefined
  return {
    wake: () => {
      isPending = true
      resume?.()
    },
    wait: async (ms) => {
      if (!isPending) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          resume = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      isPending = false
      resume = undefined
    },
  }
}
