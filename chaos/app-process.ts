import type { ChildProcess } from 'node:child_process'
import type { Arming } from './failpoints.ts'
import type { Order } from './app-process-main.ts'

export type Role = 'http' | 'worker'

/** One process of Parley, from its start until it is gone. */
export class Member {
  readonly role: Role
  url: string | undefined
  isReady = false
  readonly ended: Promise<void>
  readonly #child: ChildProcess

  constructor(role: Role, child: ChildProcess) {
    this.role = role
    this.#child = child
    this.ended = new Promise((resolve) => child.once('exit', () => resolve()))
  }

  get isGone(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** What it ended by. */
  get end(): string {
    return String(this.#child.signalCode ?? this.#child.exitCode)
  }

  begin(environment: Record<string, string>, clockAheadMs: number): void {
    this.#order({ kind: 'begin', environment: { ...environment, ROLES: this.role, PORT: '0' }, clockAheadMs })
  }

  arm(arming: Arming): void {
    this.#order({ kind: 'arm', arming })
  }

  disarm(): void {
    this.#order({ kind: 'disarm' })
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.ended
  }

  #order(order: Order): void {
    if (this.#child.connected) this.#child.send(order, () => undefined)
  }
}
