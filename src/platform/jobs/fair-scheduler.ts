type Options = {
  /** So much may be under way at once. */
  max: number
  /** And so much of it for one key. */
  maxPerKey: number
  /** Takes at most `limit` pieces of work of a key. What it gives is begun at once, and may not reject. */
  take: (key: string, limit: number) => Promise<(() => Promise<void>)[]>
}

/**
 * Long work of many, of which a bounded part is under way at once. Keys take turns, so one that has a lot to do leaves
 * room for the others, and what is slow holds up nothing that is behind it.
 */
export class FairScheduler {
  readonly #options: Options
  /** Those that may have something to do, in the order of their turns. */
  readonly #asking = new Set<string>()
  readonly #underWay = new Map<string, number>()
  #total = 0
  #round: Promise<void> | undefined
  #look: () => void = () => undefined

  constructor(options: Options) {
    this.#options = options
  }

  /**
   * Tells that a key may have something to do. The first who asks is answered when nothing is under way any more, and
   * stands for all; those who ask meanwhile are answered at once.
   */
  ask(key: string): Promise<void> {
    this.#asking.add(key)
    this.#look()
    if (this.#round) return Promise.resolve()
    this.#round = this.#serve().finally(() => (this.#round = undefined))
    return this.#round
  }

  async #serve(): Promise<void> {
    for (;;) {
      const changed = new Promise<void>((resolve) => (this.#look = resolve))
      const key = this.#next()
      if (key !== undefined) await this.#begin(key)
      else if (this.#total > 0) await changed
      else return
    }
  }

  #next(): string | undefined {
    const { max, maxPerKey } = this.#options
    if (this.#total >= max) return undefined
    return [...this.#asking].find((key) => (this.#underWay.get(key) ?? 0) < maxPerKey)
  }

  async #begin(key: string): Promise<void> {
    const { max, maxPerKey, take } = this.#options
    const limit = Math.min(max - this.#total, maxPerKey - (this.#underWay.get(key) ?? 0))
    this.#asking.delete(key)
    const taken = await take(key, limit)
    for (const work of taken) {
      this.#count(key, 1)
      void work().finally(() => {
        this.#count(key, -1)
        this.#look()
      })
    }
    // There may be more than it was given room for.
    if (taken.length === limit) this.#asking.add(key)
  }

  #count(key: string, change: 1 | -1): void {
    const now = (this.#underWay.get(key) ?? 0) + change
    this.#total += change
    if (now > 0) this.#underWay.set(key, now)
    else this.#underWay.delete(key)
  }
}
