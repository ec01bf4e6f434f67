import { UnavailableError } from '../errors.ts'

/**
 * Runs at most `width` tasks at a time and lets at most `queueMax` wait, in order. Further ones are rejected at once,
 * rather than after a long wait.
 */
export class Semaphore {
  readonly #width: number
  readonly #queueMax: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor({ width, queueMax }: { width: number; queueMax: number }) {
    this.#width = width
    this.#queueMax = queueMax
  }

  /** @throws UnavailableError when the queue is full */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.#acquire()
    try {
      return await work()
    } finally {
      this.#release()
    }
  }

  async #acquire(): Promise<void> {
    if (this.#running < this.#width) {
      this.#running += 1
      return
    }
    if (this.#waiting.length >= this.#queueMax) {
      throw new UnavailableError('Too many requests of this kind are in progress. Try again in a moment', 1)
    }
    await new Promise<void>((admit) => this.#waiting.push(admit))
  }

  /** Hands the slot to the next in line, so that a later caller cannot take it first. */
  #release(): void {
    const admit = this.#waiting.shift()
    if (admit) admit()
    else this.#running -= 1
  }
}
