/** Deterministic random numbers (mulberry32): the same seed gives the same sequence. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  /** Returns an integer between two bounds, both inclusive. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T
  }

  shuffle<T>(list: readonly T[]): T[] {
    const result = [...list]
    for (let index = result.length - 1; index > 0; index -= 1) {
      const other = this.below(index + 1)
      const value = result[index] as T
      result[index] = result[other] as T
      result[other] = value
    }
    return result
  }

  /** Returns an independent generator, so that the draws of one actor do not change those of another. */
  fork(): Random {
    return new Random(this.below(2 ** 32))
  }
}
