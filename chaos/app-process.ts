import type { ChildProcess } from 'node:child_process'
import type { TcpProxy } from '../test/support/tcp-proxy.ts'
import type { ProcessCommand, ProcessEvent } from './app-process-main.ts'
import type { ArmedFailpoint } from './failpoints.ts'

export type Role = 'http' | 'worker'

/** Position in the pool, which a process and its replacements have in common. */
export type Slot = {
  role: Role
  /** Setting `ROLES` of its processes. An HTTP process may also be a worker. */
  roles: string
  /** The only way from the processes of this slot to the database. */
  proxy: TcpProxy
  clockOffsetMs: number
  process: AppProcess | undefined
}

/** One process of Parley, from its start to its exit. */
export class AppProcess {
  readonly slot: Slot
  url: string | undefined
  isReady = false
  /** True while the process is stopped by SIGSTOP, by itself at a failpoint or by `freeze`. */
  isFrozen = false
  readonly exited: Promise<void>
  readonly #child: ChildProcess

  constructor(slot: Slot, child: ChildProcess) {
    this.slot = slot
    this.#child = child
    this.exited = new Promise((resolve) => child.once('exit', () => resolve()))
    child.on('message', ({ kind }: ProcessEvent) => {
      if (kind === 'frozen') this.isFrozen = true
    })
  }

  get role(): Role {
    return this.slot.role
  }

  get hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** Signal or exit code that the process ended with. */
  get exitReason(): string {
    return String(this.#child.signalCode ?? this.#child.exitCode)
  }

  start(environment: Record<string, string>): void {
    const { clockOffsetMs, roles } = this.slot
    this.#send({ kind: 'start', environment: { ...environment, ROLES: roles, PORT: '0' }, clockOffsetMs })
  }

  armFailpoint(failpoint: ArmedFailpoint): void {
    this.#send({ kind: 'arm', failpoint })
  }

  disarmFailpoint(): void {
    this.#send({ kind: 'disarm' })
  }

  /** Changes variables that the process reads while it runs. */
  changeEnvironment(environment: Record<string, string>): void {
    this.#send({ kind: 'change_environment', environment })
  }

  freeze(): void {
    this.isFrozen = this.#child.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child.kill('SIGCONT')
    this.isFrozen = false
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.exited
  }

  #send(command: ProcessCommand): void {
    if (this.#child.connected) this.#child.send(command, () => undefined)
  }
}
