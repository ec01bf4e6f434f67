import { type ChildProcess, fork } from 'node:child_process'

/**
 * Processes that have loaded the code and wait to be told what they are. Loading takes most of a start, so whoever is
 * killed is replaced by one that has it behind it.
 */
export class Reserve {
  readonly #main: string
  #size: number
  readonly #waiting: ChildProcess[] = []

  constructor(main: string, size: number) {
    this.#main = main
    this.#size = size
    this.#fill()
  }

  /** The one that has waited longest; what it is told before it has loaded is kept for it. */
  take(): ChildProcess {
    const child = this.#waiting.shift() ?? this.#launch()
    this.#fill()
    return child
  }

  /** Those that are there are enough. */
  fillNoMore(): void {
    this.#size = 0
  }

  async close(): Promise<void> {
    this.fillNoMore()
    await Promise.all(
      this.#waiting.splice(0).map((child) => {
        const ended = new Promise((resolve) => child.once('exit', resolve))
        child.kill('SIGKILL')
        return ended
      }),
    )
  }

  #fill(): void {
    while (this.#waiting.length < this.#size) this.#waiting.push(this.#launch())
  }

  #launch(): ChildProcess {
    const child = fork(this.#main, { execArgv: [], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    child.on('error', () => undefined)
    child.once('exit', () => {
      const index = this.#waiting.indexOf(child)
      if (index >= 0) this.#waiting.splice(index, 1)
    })
    return child
  }
}
