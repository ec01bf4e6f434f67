import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { BenchProcess } from './bench-process.ts'
import { type BenchDatabase, environmentOf } from './database.ts'
import { type Effort, effortOf } from './measure.ts'
import { type BenchWorkspace, makeWorkspaces, phoneOf } from './workspaces.ts'

/** `backlog` is how many messages each workspace finds in its mailboxes at the start of a round, each from somebody else. */
export type Size = { workspaces: number; backlog: number; rounds: number }

const LOOK_EVERY_MS = 20

/** A bench that is closed whatever becomes of it. */
export async function withEngineBench<T>(
  database: BenchDatabase,
  size: Size,
  work: (bench: EngineBench) => Promise<T>,
): Promise<T> {
  const bench = await EngineBench.open(database, size)
  try {
    return await work(bench)
  } finally {
    await bench.close()
  }
}

/** Workspaces with people, and the processes that bring their messages forward one stage at a time. */
export class EngineBench {
  readonly database: pg.Client
  readonly workspaces: BenchWorkspace[]
  readonly #postmasterPid: number
  readonly #workers: BenchProcess[]
  readonly #script: BenchProcess
  readonly #backlog: number
  #written = 0

  private constructor(parts: {
    database: pg.Client
    workspaces: BenchWorkspace[]
    postmasterPid: number
    workers: BenchProcess[]
    script: BenchProcess
    backlog: number
  }) {
    this.database = parts.database
    this.workspaces = parts.workspaces
    this.#postmasterPid = parts.postmasterPid
    this.#workers = parts.workers
    this.#script = parts.script
    this.#backlog = parts.backlog
  }

  /** `rounds` is how often messages can be stored, each time from people who have not been answered before. */
  static async open(benchDatabase: BenchDatabase, { workspaces: count, backlog, rounds }: Size) {
    const { url, postmasterPid } = benchDatabase
    const environment = environmentOf(benchDatabase)
    const workspaces = await makeWorkspaces(environment, { count, people: rounds * backlog })
    const database = new pg.Client({ connectionString: url })
    await database.connect()
    database.on('error', () => undefined)
    const workers = [
      await BenchProcess.start('./stage-process.ts', environment),
      await BenchProcess.start('./stage-process.ts', environment),
    ]
    const script = await BenchProcess.start('./bare-advance.ts', { DATABASE_URL: url })
    return new EngineBench({ database, workspaces, postmasterPid, workers, script, backlog })
  }

  /** The number of messages in a round. */
  get count(): number {
    return this.workspaces.length * this.#backlog
  }

  ingest(): Promise<Effort> {
    const first = this.#written * this.#backlog
    this.#written += 1
    const written = this.workspaces.map(({ tenantId, channelId, number }) => ({
      tenantId,
      channelId,
      phones: Array.from({ length: this.#backlog }, (_, n) => phoneOf(number, first + n)),
      body: `hi, this is round ${this.#written}`,
    }))
    return this.#measure(this.#workers.slice(0, 1), (worker) => worker.do('ingest', written))
  }

  /** The mailboxes as they are now, emptied by so many workers. */
  advance(workers: number): Promise<Effort> {
    return this.#work(workers, 'advance', 'mailbox_items')
  }

  send(): Promise<Effort> {
    return this.#work(1, 'deliver', 'outbox')
  }

  /** The mailboxes as they are now, emptied by a script that only says the statements. */
  advanceBare(): Promise<Effort> {
    return this.#measure([this.#script], (script) => script.do('advance', this.workspaces))
  }

  async close(): Promise<void> {
    await this.database.end()
    await Promise.all([...this.#workers, this.#script].map((process) => process.stop()))
  }

  async #work(count: number, task: string, table: string): Promise<Effort> {
    const workers = this.#workers.slice(0, count)
    const effort = await this.#measure(workers, async (worker) => {
      await worker.do('work', [task])
      await this.#whenEmpty(table)
    })
    for (const worker of workers) await worker.do('rest')
    return effort
  }

  async #whenEmpty(table: string): Promise<void> {
    for (let isEmpty = false; !isEmpty; await delay(LOOK_EVERY_MS)) {
      const { rows } = await this.database.query<{ busy: boolean }>(`select exists (select from ${table}) as busy`)
      isEmpty = rows[0]?.busy === false
    }
  }

  #measure(processes: BenchProcess[], work: (process: BenchProcess) => Promise<unknown>): Promise<Effort> {
    const pids = processes.map(({ pid }) => pid)
    return effortOf({ pids, postmasterPid: this.#postmasterPid, count: this.count }, async () => {
      await Promise.all(processes.map(work))
    })
  }
}
