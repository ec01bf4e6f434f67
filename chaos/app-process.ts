import type { ChildProcess } from 'node:child_process'
import type { ProcessCommand } from './app-process-main.ts'
import type { ArmedFailpoint } from './failpoints.ts'

export type Role = 'http' | 'worker'

/** One process of Parley, from its start to its exit. */
export class AppProcess {
  readonly role: Role
  url: string | undefined
  isReady = false
  readonly exited: Promise<void>
  readonly #child: ChildProcess

  constructor(role: Role, child: ChildProcess) {
    this.role = role
    this.#child = child
    this.exited = new Promise((resolve) => child.once('exit', () => resolve()))
  }

  get hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** Signal or exit code that the process ended with. */
  get exitReason(): string {
    return String(this.#child.signalCode ?? this.#child.exitCode)
  }

  start(environment: Record<string, string>, clockOffsetMs: number): void {
    this.#send({ kind: 'start', environment: { ...environment, ROLES: this.role, PORT: '0' }, clockOffsetMs })
  }

  armFailpoint(failpoint: ArmedFailpoint): void {
    this.#send({ kind: 'arm', failpoint })
  }

  disarmFailpoint(): void {
    this.#send({ kind: 'disarm' })
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.exited
  }

  #send(command: ProcessCommand): void {
    if (this.#child.connected) this.#child.send(command, () => undefined)
  }
}
