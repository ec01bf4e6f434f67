/**
 * Lets few tasks start at a time, so that what waits meanwhile can be done together. A task that takes longer than
 * `holdMaxMs` goes on, but makes room for the next one: it delays others only for so long.
 */
export class Gate {
  readonly #width: number
  readonly #holdMaxMs: number
  readonly #waiting: (() => void)[] = []
  #entered = 0

  constructor({ width, holdMaxMs }: { width: number; holdMaxMs: number }) {
    this.#width = width
    this.#holdMaxMs = holdMaxMs
  }

  /** Runs tasks in the order of the calls. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#entered < this.#width) this.#entered += 1
    else await new Promise<void>((enter) => this.#waiting.push(enter))
    let hasLeft = false
    const leave = () => {
      if (hasLeft) return
      hasLeft = true
      // The place goes to the next in line, so that a later caller cannot take it first.
      const enter = this.#waiting.shift()
      if (enter) enter()
      else this.#entered -= 1
    }
    const timer = setTimeout(leave, this.#holdMaxMs)
    try {
      return await work()
    } finally {
      clearTimeout(timer)
      leave()
    }
  }
}
