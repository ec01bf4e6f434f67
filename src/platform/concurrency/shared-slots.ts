export type Share = {
  key: string
  /** Slots of the key, however many are free. */
  max?: number
}

/**
 * Slots, or bytes, that clients occupy for as long as they like. A key gets another one while it has fewer than a part of
 * those that are free, so that its share shrinks with the number of busy keys, and a few keys never take all. Without
 * `part` only the maximum of a share counts, and the caller looks at what is free.
 */
export class SharedSlots {
  readonly #width: number
  readonly #part: number
  readonly #taken = new Map<string, number>()
  #total = 0

  constructor({ width, part = Infinity }: { width: number; part?: number }) {
    this.#width = width
    this.#part = part
  }

  get taken(): number {
    return this.#total
  }

  get free(): number {
    return this.#width - this.#total
  }

  /** Lists the keys that have slots. */
  listKeys(): string[] {
    return [...this.#taken.keys()]
  }

  /** Returns the first share that has no further slots; undefined if they can be taken. */
  findExhausted(shares: readonly Share[], count = 1): Share | undefined {
    const partMax = this.#part === Infinity ? Infinity : this.free * this.#part
    return shares.find(({ key, max = Infinity }) => this.#count(key) + count - 1 >= Math.min(max, partMax))
  }

  /** Counts the slots that a key may take one after the other, while `kept` of the free ones are left for something else. */
  countRoom(key: string, kept = 0): number {
    const free = this.free - kept
    if (this.#part === Infinity) return Math.max(0, free)
    const room = Math.ceil((free * this.#part - this.#count(key)) / (1 + this.#part))
    return Math.max(0, Math.min(free, room))
  }

  /** Takes a slot for all of the shares, and returns the function that frees it, which may be called more than once. */
  take(shares: readonly Share[]): () => void {
    this.add(shares, 1)
    let isTaken = true
    return () => {
      if (isTaken) this.add(shares, -1)
      isTaken = false
    }
  }

  /** Takes slots for all of the shares, or frees them if `change` is negative. */
  add(shares: readonly Share[], change: number): void {
    this.#total += change
    for (const { key } of shares) {
      const count = this.#count(key) + change
      if (count > 0) this.#taken.set(key, count)
      else this.#taken.delete(key)
    }
  }

  #count(key: string): number {
    return this.#taken.get(key) ?? 0
  }
}
