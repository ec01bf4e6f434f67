import { setTimeout as delay } from 'node:timers/promises'
import type { Random } from './random.ts'

/** Posts one webhook and gives the status it was met with; rejects where nobody answered. */
export type Letter = () => Promise<number>

const PAUSE_MS = { first: 100, longest: 3000 }

/** Delivers webhooks as Meta does: again and again until there is a 200, and now and then once more after that. */
export class PostOffice {
  posts = 0
  /** What posts met that met no 200, and how often; 0 is no answer. */
  readonly refusals = new Map<number, number>()
  /** Letters that were delivered although they had been delivered. */
  repeats = 0
  delivered = 0
  readonly #random: Random
  readonly #isOpen: () => boolean
  readonly #underWay = new Set<Promise<void>>()
  #closed = false

  /** Nobody is called while `isOpen` says that nobody listens: this machine has better things to do. */
  constructor(random: Random, isOpen: () => boolean) {
    this.#random = random
    this.#isOpen = isOpen
  }

  /** Resolves when the letter was taken; what is delivered twice may still be under way then. */
  async deliver(letter: Letter): Promise<void> {
    const twins = this.#random.chance(0.1) ? 1 : 0
    await Promise.all(Array.from({ length: 1 + twins }, () => this.#insist(letter)))
    this.repeats += twins
    this.delivered += 1
    if (this.#random.chance(0.2)) this.#later(letter, this.#random.between(1, 3))
  }

  /** Resolves when nothing is under way. */
  async whenEmpty(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  close(): void {
    this.#closed = true
  }

  #later(letter: Letter, times: number): void {
    const done = (async () => {
      for (let time = 0; time < times; time += 1) {
        await delay(this.#random.between(0, 1500))
        await this.#insist(letter)
        this.repeats += 1
      }
    })().finally(() => this.#underWay.delete(done))
    this.#underWay.add(done)
  }

  async #insist(letter: Letter): Promise<void> {
    for (let pauseMs = PAUSE_MS.first; !this.#closed; pauseMs = Math.min(pauseMs * 2, PAUSE_MS.longest)) {
      while (!this.#isOpen() && !this.#closed) await delay(this.#random.between(50, 500))
      this.posts += 1
      const status = await letter().catch(() => 0)
      if (status === 200) return
      this.refusals.set(status, (this.refusals.get(status) ?? 0) + 1)
      await delay(this.#random.between(pauseMs / 2, pauseMs))
    }
  }
}
