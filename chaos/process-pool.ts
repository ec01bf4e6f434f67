import type { ChildProcess } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { TcpProxy } from '../test/support/tcp-proxy.ts'
import { AppProcess, type Role, type Slot } from './app-process.ts'
import type { ProcessEvent } from './app-process-main.ts'
import type { StandbyProcesses } from './standby-processes.ts'

/** An unexpected exit or an unhandled rejection of a process. */
export type Incident = { role: Role; text: string }

/** Two, because their clocks may differ. The first one is also a worker: it executes the jobs that it enqueues itself. */
const HTTP_PROCESSES = 2

/**
 * Runs two HTTP processes, one of which is also a worker, and a fixed number of workers, each behind a proxy of its own to the database, and replaces
 * each when it exits.
 */
export class ProcessPool {
  readonly incidents: Incident[] = []
  starts = 0
  failedStarts = 0
  /** Times from the start command to readiness, in ms. */
  readonly startTimes: number[] = []
  readonly slots: readonly Slot[]
  readonly #standby: StandbyProcesses
  readonly #databaseUrl: string
  readonly #environment: Record<string, string>
  readonly #isDatabaseRunning: () => boolean
  readonly #supervisors: Promise<void>[] = []
  #stderr = ''
  #stopping = false

  private constructor(slots: Slot[], options: PoolOptions) {
    this.slots = slots
    this.#standby = options.standby
    this.#databaseUrl = options.databaseUrl
    this.#environment = options.environment
    this.#isDatabaseRunning = options.isDatabaseRunning
  }

  static async create(options: PoolOptions): Promise<ProcessPool> {
    const roles: Role[] = [...Array<Role>(HTTP_PROCESSES).fill('http'), ...Array<Role>(options.workers).fill('worker')]
    const slots = roles.map(async (role, index): Promise<Slot> => {
      return {
        role,
        roles: index === 0 ? 'http,worker' : role,
        proxy: await TcpProxy.start(options.databaseUrl),
        clockOffsetMs: 0,
        process: undefined,
      }
    })
    return new ProcessPool(await Promise.all(slots), options)
  }

  start(role: Role): void {
    for (const slot of this.slots) if (slot.role === role) this.#supervisors.push(this.#supervise(slot))
  }

  listReady(role: Role): AppProcess[] {
    return this.slots.flatMap(({ process }) =>
      process?.role === role && process.isReady && !process.hasExited ? process : [],
    )
  }

  /** URLs of the HTTP processes that are ready. */
  get urls(): string[] {
    return this.listReady('http').flatMap(({ url }) => url ?? [])
  }

  /**
   * Resolves when all processes of the role are ready.
   * @throws Error if the first processes fail to start
   */
  async waitUntilReady(role: Role): Promise<void> {
    const count = this.slots.filter((slot) => slot.role === role).length
    while (this.listReady(role).length < count && !this.#stopping) {
      if (this.startTimes.length === 0 && this.failedStarts > 3)
        throw new Error(`The processes do not start: ${this.#stderr}`)
      await delay(20)
    }
  }

  async waitUntilAllReady(): Promise<void> {
    await this.waitUntilReady('http')
    await this.waitUntilReady('worker')
  }

  /** Resolves when the replacement of a process is ready, or the pool is stopped. */
  async waitUntilReplaced(process: AppProcess): Promise<void> {
    const isReplaced = () => process.slot.process !== process && process.slot.process?.isReady
    while (!isReplaced() && !this.#stopping) await delay(20)
  }

  /** Starts no more standby processes, to save processor time while no process is replaced. */
  stopRefilling(): void {
    this.#standby.stopRefilling()
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.slots.map(({ process }) => process?.kill()))
    await Promise.all(this.#supervisors)
    await this.#standby.close()
    for (const { proxy } of this.slots) proxy.stop()
  }

  async #supervise(slot: Slot): Promise<void> {
    while (!this.#stopping) {
      if (!this.#isDatabaseRunning()) {
        await delay(20)
        continue
      }
      const process = this.#launch(slot)
      slot.process = process
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

  #launch(slot: Slot): AppProcess {
    this.starts += 1
    const child = this.#standby.take()
    const startMs = performance.now()
    const process = new AppProcess(slot, child)
    this.#listen(child, (event) => {
      if (event.kind === 'unhandled_rejection') this.incidents.push({ role: slot.role, text: event.text })
      if (event.kind !== 'ready') return
      process.url = event.url
      process.isReady = true
      this.startTimes.push(performance.now() - startMs)
    })
    process.start({ ...this.#environment, DATABASE_URL: slot.proxy.through(this.#databaseUrl) })
    return process
  }

  #listen(child: ChildProcess, onEvent: (event: ProcessEvent) => void): void {
    child.on('message', onEvent)
    // The Postgres driver prints every lost connection, so only the end of the output is retained.
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#stderr = (this.#stderr + text).slice(-2000)))
  }
}

type PoolOptions = {
  workers: number
  standby: StandbyProcesses
  databaseUrl: string
  /** Environment of every process, without the URL of the database. */
  environment: Record<string, string>
  /** No process is started while it returns false. */
  isDatabaseRunning: () => boolean
}
