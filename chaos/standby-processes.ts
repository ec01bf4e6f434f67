import { type ChildProcess, fork } from 'node:child_process'

/**
 * Processes that have loaded the code and wait for a start command. Loading takes most of the start-up time, so a killed
 * process is replaced by one of these.
 */
export class StandbyProcesses {
  readonly #script: string
  #size: number
  readonly #waiting: ChildProcess[] = []

  constructor(script: string, size: number) {
    this.#script = script
    this.#size = size
    this.#refill()
  }

  /** Removes and returns the oldest process; commands sent before it has loaded are queued for it. */
  take(): ChildProcess {
    const child = this.#waiting.shift() ?? this.#launch()
    this.#refill()
    return child
  }

  stopRefilling(): void {
    this.#size = 0
  }

  async close(): Promise<void> {
    this.stopRefilling()
    await Promise.all(
      this.#waiting.splice(0).map((child) => {
        const exited = new Promise((resolve) => child.once('exit', resolve))
        child.kill('SIGKILL')
        return exited
      }),
    )
  }

  #refill(): void {
    while (this.#waiting.length < this.#size) this.#waiting.push(this.#launch())
  }

  #launch(): ChildProcess {
    const child = fork(this.#script, { execArgv: [], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    child.on('error', () => undefined)
    child.once('exit', () => {
      const index = this.#waiting.indexOf(child)
      if (index >= 0) this.#waiting.splice(index, 1)
    })
    return child
  }
}
