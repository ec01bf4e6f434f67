import { SharedWork } from './batcher.ts'

export type SharedReads = SharedWork<() => Promise<unknown>, unknown>

/** What many want to read alike is read once for all who wait; whoever comes while a read goes on waits for the next. */
export function createSharedReads(): SharedReads {
  return new SharedWork({
    work: async (_key, [first, ...others]) => {
      const found = await first?.()
      return [found, ...others.map(() => found)]
    },
    batchMax: Infinity,
    waitingMax: Infinity,
    isOfOne: () => false,
  })
}
