import { UnavailableError } from '../errors.ts'

type Waiting<Item, Result> = { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }

type Options<Item, Result> = {
  /** Processes a batch of one key and returns one result per item, in order. If it throws, all items fail. */
  work: (key: string, items: Item[]) => Promise<Result[]>
  /** The largest size of a batch. */
  batchMax: number
  /** Items of one key that may wait; further ones are rejected. */
  waitingMax: number
  /** Returns the size of an item, by default 1. A single item larger than a batch is processed alone. */
  measure?: (item: Item) => number
}

/**
 * Merges concurrent work on the same key. The first item is processed at once and alone; items that arrive meanwhile are
 * processed next, as one batch, in order. No item joins a batch that has started, so each caller sees the effects
 * of everything that finished before its call.
 */
export class Batcher<Item, Result> {
  readonly #options: Options<Item, Result>
  readonly #waiting = new Map<string, Waiting<Item, Result>[]>()

  constructor(options: Options<Item, Result>) {
    this.#options = options
  }

  /** @throws UnavailableError when too many items are waiting */
  do(key: string, item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const queue = this.#waiting.get(key)
      if (!queue) {
        this.#waiting.set(key, [{ item, resolve, reject }])
        void this.#run(key)
      } else if (queue.length < this.#options.waitingMax) {
        queue.push({ item, resolve, reject })
      } else {
        reject(new UnavailableError('Too many requests of this kind are in progress. Try again in a moment', 1))
      }
    })
  }

  async #run(key: string): Promise<void> {
    while (this.#waiting.get(key)?.length) await this.#process(key, this.#next(key))
    this.#waiting.delete(key)
  }

  #next(key: string): Waiting<Item, Result>[] {
    const { batchMax, measure = () => 1 } = this.#options
    const queue = this.#waiting.get(key) ?? []
    let size = 0
    const overflow = queue.findIndex(({ item }, index) => (size += measure(item)) > batchMax && index > 0)
    return queue.splice(0, overflow === -1 ? queue.length : overflow)
  }

  async #process(key: string, batch: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#options.work(
        key,
        batch.map(({ item }) => item),
      )
      for (const [index, result] of results.entries()) batch[index]?.resolve(result)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
}

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
  })
}
