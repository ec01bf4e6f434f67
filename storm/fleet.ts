import { type ChildProcess, fork } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import type { Arming } from './failpoints.ts'
import type { News, Order } from './parley-main.ts'

export type Role = 'http' | 'worker'

export type Incident = { process: string; what: string }

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

  /** It ends at the boundary, or is disarmed and lives on. */
  async killAt(arming: Arming, patienceMs: number): Promise<boolean> {
    this.#order({ kind: 'arm', arming })
    await Promise.race([this.ended, delay(patienceMs)])
    if (!this.isGone) this.#order({ kind: 'disarm' })
    return this.isGone
  }

  arm(arming: Arming): void {
    this.#order({ kind: 'arm', arming })
  }

  disarm(): void {
    this.#order({ kind: 'disarm' })
  }

  setClock(aheadMs: number): void {
    this.#order({ kind: 'clock', aheadMs })
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.ended
  }

  #order(order: Order): void {
    if (this.#child.connected) this.#child.send(order, () => undefined)
  }
}

/** So many processes of Parley, each started again when it ends. */
export class Fleet {
  readonly incidents: Incident[] = []
  starts = 0
  refusedStarts = 0
  /** How long each took until it was ready, in ms. */
  readonly startTimes: number[] = []
  readonly #members: (Member | undefined)[]
  readonly #roles: Role[]
  readonly #main: string
  readonly #environment: Record<string, string>
  readonly #watches: Promise<void>[] = []
  #aheadMs = 0
  #said = ''
  #stopping = false

  constructor({ workers, main, environment }: { workers: number; main: string; environment: Record<string, string> }) {
    this.#main = main
    this.#roles = ['http', ...Array<Role>(workers).fill('worker')]
    this.#members = this.#roles.map(() => undefined)
    this.#environment = environment
  }

  start(role: Role): void {
    this.#roles.forEach((own, index) => {
      if (own === role) this.#watches.push(this.#watch(index))
    })
  }

  ready(role: Role): Member[] {
    return this.#members.flatMap((member) => (member?.role === role && member.isReady && !member.isGone ? member : []))
  }

  get url(): string | undefined {
    return this.ready('http')[0]?.url
  }

  /** Resolves when every process of the role is ready; rejects when they do not start at all. */
  async whenReady(role: Role): Promise<void> {
    const count = this.#roles.filter((own) => own === role).length
    while (this.ready(role).length < count) {
      if (this.startTimes.length === 0 && this.refusedStarts > 3) throw new Error(`No process starts: ${this.#said}`)
      await delay(20)
    }
  }

  get isWhole(): boolean {
    return this.ready('http').length + this.ready('worker').length === this.#roles.length
  }

  setClock(aheadMs: number): void {
    this.#aheadMs = aheadMs
    for (const member of this.#members) member?.setClock(aheadMs)
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#members.map((member) => member?.kill()))
    await Promise.all(this.#watches)
  }

  async #watch(index: number): Promise<void> {
    while (!this.#stopping) {
      const { member, child } = this.#launch(this.#roles[index] ?? 'worker')
      this.#members[index] = member
      await member.ended
      const { exitCode, signalCode } = child
      if (this.#stopping) return
      if (!member.isReady) this.refusedStarts += 1
      else if (signalCode !== 'SIGKILL')
        this.incidents.push({
          process: member.role,
          what: `ended by itself (${exitCode ?? signalCode}): ${this.#said}`,
        })
      await delay(member.isReady ? 50 : 300)
    }
  }

  #launch(role: Role): { member: Member; child: ChildProcess } {
    this.starts += 1
    const beganMs = performance.now()
    const child = fork(this.#main, {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: {
        ...process.env,
        ...this.#environment,
        ROLES: role,
        PORT: '0',
        STORM_CLOCK_AHEAD_MS: String(this.#aheadMs),
      },
    })
    const member = new Member(role, child)
    child.on('error', () => undefined)
    // The driver speaks up whenever a connection breaks, which here is all the time.
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#said = (this.#said + text).slice(-2000)))
    child.on('message', (news: News) => {
      if (news.kind === 'rejection') this.incidents.push({ process: role, what: news.text })
      else {
        member.url = news.url
        member.isReady = true
        this.startTimes.push(performance.now() - beganMs)
      }
    })
    return { member, child }
  }
}
