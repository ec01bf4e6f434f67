export type Share = {
  key: string
  /** Slots of the key, however many are free. */
  max?: number
}

/**
 * Slots that clients occupy for as long as they like. A key gets another one while it has fewer than a part of those that
 * are free, so that its share shrinks with the number of busy keys, and a few keys never take all.
 */
export class SharedSlots {
  readonly #width: number
  readonly #part: number
  readonly #taken = new Map<string, number>()
  #total = 0

  constructor({ width, part }: { width: number; part: number }) {
    this.#width = width
    this.#part = part
  }

  /** Returns the first share that has no further slot; undefined if a slot can be taken. */
  findExhausted(shares: readonly Share[]): Share | undefined {
    const partMax = (this.#width - this.#total) * this.#part
    return shares.find(({ key, max = Infinity }) => this.#count(key) >= Math.min(max, partMax))
  }

  /** Takes a slot for all of the shares, and returns the function that frees it, which may be called more than once. */
  take(shares: readonly Share[]): () => void {
    this.#add(shares, 1)
    let isTaken = true
    return () => {
      if (isTaken) this.#add(shares, -1)
      isTaken = false
    }
  }

  #count(key: string): number {
    return this.#taken.get(key) ?? 0
  }

  #add(shares: readonly Share[], change: 1 | -1): void {
    this.#total += change
    for (const { key } of shares) {
      const count = this.#count(key) + change
      if (count > 0) this.#taken.set(key, count)
      else this.#taken.delete(key)
    }
  }
}
