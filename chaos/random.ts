/** The same numbers for the same seed, so that a storm can be raised again. (mulberry32) */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 up to, not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T
  }

  shuffle<T>(list: readonly T[]): T[] {
    const shuffled = [...list]
    for (let index = shuffled.length - 1; index > 0; index -= 1) {
      const other = this.below(index + 1)
      const kept = shuffled[index] as T
      shuffled[index] = shuffled[other] as T
      shuffled[other] = kept
    }
    return shuffled
  }

  /** Another row of numbers: what one actor draws does not change what the next one draws. */
  fork(): Random {
    return new Random(this.below(2 ** 32))
  }
}
