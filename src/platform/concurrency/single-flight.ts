import { Batcher } from './batcher.ts'

export type SingleFlight = Batcher<() => Promise<unknown>, unknown>

/** What many want to read alike is read once for all who wait; whoever comes while a read goes on waits for the next. */
export function createSingleFlight(): SingleFlight {
  return new Batcher({
    work: async (_key, [first, ...others]) => {
      const found = await first?.()
      return [found, ...others.map(() => found)]
    },
    batchMax: Infinity,
    waitingMax: Infinity,
    isOfOne: () => false,
  })
}
