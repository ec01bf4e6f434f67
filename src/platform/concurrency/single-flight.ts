import { Batcher } from './batcher.ts'

export type SingleFlight = Batcher<() => Promise<unknown>, unknown>

/** Runs one read for all concurrent callers of a key. A caller that arrives during a read waits for the next one. */
export function createSingleFlight(): SingleFlight {
  return new Batcher({
    work: async (_key, [read, ...others]) => {
      const result = await read?.()
      return [result, ...others.map(() => result)]
    },
    batchMax: Infinity,
    waitingMax: Infinity,
    isItemError: () => false,
  })
}
