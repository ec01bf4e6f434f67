import { UnavailableError } from '../errors.ts'

type Waiting<Item, Result> = { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }

type Options<Item, Result> = {
  /** Does a batch of one key, and answers one result per item, in order. */
  work: (key: string, items: Item[]) => Promise<Result[]>
  /** At most so many items are done at once. */
  batchMax: number
  /** Whoever comes when so many of a key are waiting is refused. */
  waitingMax: number
  /** What an item counts for; one that alone is more than a batch is done alone. */
  sizeOf?: (item: Item) => number
  /** Whether an error may be the fault of a single item, so that the others are worth trying without it. */
  isOfOne?: (error: unknown) => boolean
}

/**
 * Work on one thing that many ask for at once, done for all of them together. Whoever comes first is served at once and
 * alone; those who come while that goes on are served next, as one batch, in the order they came. Nobody joins work that
 * has already begun, so whoever asks sees all that was done before.
 */
export class Batcher<Item, Result> {
  readonly #options: Options<Item, Result>
  readonly #waiting = new Map<string, Waiting<Item, Result>[]>()

  constructor(options: Options<Item, Result>) {
    this.#options = options
  }

  /** @throws UnavailableError when too many are waiting */
  do(key: string, item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const queue = this.#waiting.get(key)
      if (!queue) {
        this.#waiting.set(key, [])
        void this.#serve(key, [{ item, resolve, reject }])
      } else if (queue.length < this.#options.waitingMax) {
        queue.push({ item, resolve, reject })
      } else {
        reject(new UnavailableError('Too much of this is under way, please try again in a moment', 1))
      }
    })
  }

  async #serve(key: string, first: Waiting<Item, Result>[]): Promise<void> {
    for (let batch = first; batch.length > 0; batch = this.#next(key)) await this.#attempt(key, batch)
    this.#waiting.delete(key)
  }

  #next(key: string): Waiting<Item, Result>[] {
    const { batchMax, sizeOf = () => 1 } = this.#options
    const queue = this.#waiting.get(key) ?? []
    let size = 0
    const tooMany = queue.findIndex(({ item }, index) => (size += sizeOf(item)) > batchMax && index > 0)
    return queue.splice(0, tooMany === -1 ? queue.length : tooMany)
  }

  /** All together; if that fails through one of them, one after the other, so that one fails alone. */
  async #attempt(key: string, batch: Waiting<Item, Result>[]): Promise<void> {
    const { work, isOfOne = () => true } = this.#options
    try {
      const results = await work(
        key,
        batch.map(({ item }) => item),
      )
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result)
    } catch (error) {
      if (batch.length > 1 && isOfOne(error)) for (const one of batch) await this.#attempt(key, [one])
      else for (const { reject } of batch) reject(error)
    }
  }
}
