import type { ChildProcess } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { Member, type Role } from './member.ts'
import type { News } from './parley-main.ts'
import type { Reserve } from './reserve.ts'

export type Incident = { process: string; what: string }

/** So many processes of Parley, each started again when it ends. */
export class Fleet {
  readonly incidents: Incident[] = []
  starts = 0
  refusedStarts = 0
  /** How long each took until it was ready, in ms, once it had loaded the code. */
  readonly startTimes: number[] = []
  readonly #members: (Member | undefined)[]
  readonly #roles: Role[]
  readonly #reserve: Reserve
  readonly #environment: Record<string, string>
  readonly #isServed: () => boolean
  readonly #watches: Promise<void>[] = []
  #clockAheadMs = 0
  #said = ''
  #stopping = false

  /** Nobody starts while `isServed` says that the database is away. */
  constructor(given: {
    workers: number
    reserve: Reserve
    environment: Record<string, string>
    isServed: () => boolean
  }) {
    const { workers, reserve, environment, isServed } = given
    this.#roles = ['http', ...Array<Role>(workers).fill('worker')]
    this.#members = this.#roles.map(() => undefined)
    this.#reserve = reserve
    this.#environment = environment
    this.#isServed = isServed
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

  async whenWhole(): Promise<void> {
    await this.whenReady('http')
    await this.whenReady('worker')
  }

  /** Everybody dies at once for the last time, and those that come after them live so much later. */
  async beginAgain(clockAheadMs: number): Promise<void> {
    this.#reserve.fillNoMore()
    this.#clockAheadMs = clockAheadMs
    await Promise.all(this.#members.map((member) => member?.kill()))
    await this.whenWhole()
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#members.map((member) => member?.kill()))
    await Promise.all(this.#watches)
    await this.#reserve.close()
  }

  async #watch(index: number): Promise<void> {
    while (!this.#stopping) {
      if (!this.#isServed()) {
        await delay(20)
        continue
      }
      const member = this.#launch(this.#roles[index] ?? 'worker')
      this.#members[index] = member
      await member.ended
      if (this.#stopping) return
      if (!member.isReady) this.refusedStarts += 1
      else if (member.end !== 'SIGKILL')
        this.incidents.push({ process: member.role, what: `ended by itself (${member.end}): ${this.#said}` })
    }
  }

  #launch(role: Role): Member {
    this.starts += 1
    const child = this.#reserve.take()
    const beganMs = performance.now()
    const member = new Member(role, child)
    this.#listen(child, (news) => {
      if (news.kind === 'rejection') this.incidents.push({ process: role, what: news.text })
      else {
        member.url = news.url
        member.isReady = true
        this.startTimes.push(performance.now() - beganMs)
      }
    })
    member.begin(this.#environment, this.#clockAheadMs)
    return member
  }

  #listen(child: ChildProcess, hear: (news: News) => void): void {
    child.on('message', hear)
    // The driver speaks up whenever a connection breaks, which here is all the time.
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#said = (this.#said + text).slice(-2000)))
  }
}
