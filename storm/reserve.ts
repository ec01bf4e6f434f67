import { type ChildProcess, fork } from 'node:child_process'

/**
 * Processes that have loaded the code and wait to be told what they are. Loading takes most of a start, so whoever is
 * killed is replaced by one that has it behind it.
 */
export class Reserve {
  readonly #main: string
  readonly #environment: Record<string, string>
  readonly #size: number
  readonly #waiting: ChildProcess[] = []

  constructor({ main, environment, size }: { main: string; environment: Record<string, string>; size: number }) {
    this.#main = main
    this.#environment = environment
    this.#size = size
  }

  /** The one that has waited longest; what it is told before it has loaded is kept for it. */
  take(): ChildProcess {
    while (this.#waiting.length <= this.#size) this.#waiting.push(this.#launch())
    return this.#waiting.shift() as ChildProcess
  }

  async close(): Promise<void> {
    await Promise.all(
      this.#waiting.splice(0).map((child) => {
        const ended = new Promise((resolve) => child.once('exit', resolve))
        child.kill('SIGKILL')
        return ended
      }),
    )
  }

  #launch(): ChildProcess {
    const child = fork(this.#main, {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...process.env, ...this.#environment },
    })
    child.on('error', () => undefined)
    child.once('exit', () => {
      const index = this.#waiting.indexOf(child)
      if (index >= 0) this.#waiting.splice(index, 1)
    })
    return child
  }
}
