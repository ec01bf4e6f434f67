import type { ChildProcess } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { AppProcess, type Role } from './app-process.ts'
import type { ProcessEvent } from './app-process-main.ts'
import type { StandbyProcesses } from './standby-processes.ts'

/** An unexpected exit or an unhandled rejection of a process. */
export type Incident = { role: Role; text: string }

/** Runs one HTTP process and a fixed number of workers, and replaces each when it exits. */
export class ProcessPool {
  readonly incidents: Incident[] = []
  starts = 0
  failedStarts = 0
  /** Times from the start command to readiness, in ms. */
  readonly startTimes: number[] = []
  readonly #roles: Role[]
  /** Current process of each entry of `#roles`. */
  readonly #processes: (AppProcess | undefined)[]
  readonly #standby: StandbyProcesses
  readonly #environment: Record<string, string>
  readonly #isDatabaseRunning: () => boolean
  readonly #supervisors: Promise<void>[] = []
  #clockOffsetMs = 0
  #stderr = ''
  #stopping = false

  /** Starts no process while `isDatabaseRunning` returns false. */
  constructor(options: {
    workers: number
    standby: StandbyProcesses
    environment: Record<string, string>
    isDatabaseRunning: () => boolean
  }) {
    const { workers, standby, environment, isDatabaseRunning } = options
    this.#roles = ['http', ...Array<Role>(workers).fill('worker')]
    this.#processes = this.#roles.map(() => undefined)
    this.#standby = standby
    this.#environment = environment
    this.#isDatabaseRunning = isDatabaseRunning
  }

  start(role: Role): void {
    this.#roles.forEach((candidate, index) => {
      if (candidate === role) this.#supervisors.push(this.#supervise(index))
    })
  }

  listReady(role: Role): AppProcess[] {
    return this.#processes.flatMap((process) =>
      process?.role === role && process.isReady && !process.hasExited ? process : [],
    )
  }

  /** URL of the HTTP process; undefined while none is ready. */
  get url(): string | undefined {
    return this.listReady('http')[0]?.url
  }

  /**
   * Resolves when all processes of the role are ready.
   * @throws Error if the first processes fail to start
   */
  async waitUntilReady(role: Role): Promise<void> {
    const count = this.#roles.filter((candidate) => candidate === role).length
    while (this.listReady(role).length < count) {
      if (this.startTimes.length === 0 && this.failedStarts > 3)
        throw new Error(`The processes do not start: ${this.#stderr}`)
      await delay(20)
    }
  }

  async waitUntilAllReady(): Promise<void> {
    await this.waitUntilReady('http')
    await this.waitUntilReady('worker')
  }

  /** Kills all processes once more and starts their replacements with the given clock offset. */
  async restartAll(clockOffsetMs: number): Promise<void> {
    this.#standby.stopRefilling()
    this.#clockOffsetMs = clockOffsetMs
    await Promise.all(this.#processes.map((process) => process?.kill()))
    await this.waitUntilAllReady()
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#processes.map((process) => process?.kill()))
    await Promise.all(this.#supervisors)
    await this.#standby.close()
  }

  async #supervise(index: number): Promise<void> {
    while (!this.#stopping) {
      if (!this.#isDatabaseRunning()) {
        await delay(20)
        continue
      }
      const process = this.#launch(this.#roles[index] ?? 'worker')
      this.#processes[index] = process
      await process.exited
      if (this.#stopping) return
      if (!process.isReady) this.failedStarts += 1
      else if (process.exitReason !== 'SIGKILL')
        this.incidents.push({
          role: process.role,
          text: `exited unexpectedly (${process.exitReason}): ${this.#stderr}`,
        })
    }
  }

  #launch(role: Role): AppProcess {
    this.starts += 1
    const child = this.#standby.take()
    const startMs = performance.now()
    const process = new AppProcess(role, child)
    this.#listen(child, (event) => {
      if (event.kind === 'unhandled_rejection') this.incidents.push({ role, text: event.text })
      else {
        process.url = event.url
        process.isReady = true
        this.startTimes.push(performance.now() - startMs)
      }
    })
    process.start(this.#environment, this.#clockOffsetMs)
    return process
  }

  #listen(child: ChildProcess, onEvent: (event: ProcessEvent) => void): void {
    child.on('message', onEvent)
    // The Postgres driver prints every lost connection, so only the end of the output is retained.
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#stderr = (this.#stderr + text).slice(-2000)))
  }
}
