import { UnavailableError } from '../errors.ts'

/**
 * Lets `width` pieces of work run at a time and keeps at most `queueMax` waiting, in order; whoever comes after is
 * refused at once rather than late.
 */
export class Semaphore {
  readonly #width: number
  readonly #queueMax: number
  readonly #waiting: (() => void)[] = []
  #inside = 0

  constructor({ width, queueMax }: { width: number; queueMax: number }) {
    this.#width = width
    this.#queueMax = queueMax
  }

  /** @throws UnavailableError when the queue is full */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.#enter()
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  async #enter(): Promise<void> {
    if (this.#inside < this.#width) {
      this.#inside += 1
      return
    }
    if (this.#waiting.length >= this.#queueMax) {
      throw new UnavailableError('Too many requests of this kind are under way, please try again in a moment', 1)
    }
    await new Promise<void>((admit) => this.#waiting.push(admit))
  }

  /** The place goes to the next in line, so nobody who has just come can take it first. */
  #leave(): void {
    const admit = this.#waiting.shift()
    if (admit) admit()
    else this.#inside -= 1
  }
}
