import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { BenchProcess } from './bench-process.ts'
import { type CpuCost, measureCpuCost } from './cpu-cost.ts'
import { type BenchDatabase, toEnvironment } from './database.ts'
import { type BenchWorkspace, createWorkspaces, toPhone } from './workspaces.ts'

/** `backlog` is the number of messages per workspace and round, each from another contact. */
export type Size = { workspaces: number; backlog: number; rounds: number }

const POLL_INTERVAL_MS = 20

/** Opens an engine bench and closes it afterwards, also after errors. */
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

/** Workspaces with contacts, and processes that execute one stage of message processing at a time. */
export class EngineBench {
  readonly database: pg.Client
  readonly workspaces: BenchWorkspace[]
  readonly #postmasterPid: number
  readonly #workers: BenchProcess[]
  readonly #baseline: BenchProcess
  readonly #backlog: number
  #ingestedRounds = 0

  private constructor(parts: {
    database: pg.Client
    workspaces: BenchWorkspace[]
    postmasterPid: number
    workers: BenchProcess[]
    baseline: BenchProcess
    backlog: number
  }) {
    this.database = parts.database
    this.workspaces = parts.workspaces
    this.#postmasterPid = parts.postmasterPid
    this.#workers = parts.workers
    this.#baseline = parts.baseline
    this.#backlog = parts.backlog
  }

  /** Creates enough contacts for `rounds` calls of `ingest`, each from contacts without earlier answers. */
  static async open(benchDatabase: BenchDatabase, { workspaces: count, backlog, rounds }: Size) {
    const { url, postmasterPid } = benchDatabase
    const environment = toEnvironment(benchDatabase)
    const workspaces = await createWorkspaces(environment, { count, contacts: rounds * backlog })
    const database = new pg.Client({ connectionString: url })
    await database.connect()
    database.on('error', () => undefined)
    const workers = [
      await BenchProcess.start('./stage-process.ts', environment),
      await BenchProcess.start('./stage-process.ts', environment),
    ]
    const baseline = await BenchProcess.start('./baseline-advance.ts', { DATABASE_URL: url })
    return new EngineBench({ database, workspaces, postmasterPid, workers, baseline, backlog })
  }

  /** Number of messages in a round. */
  get count(): number {
    return this.workspaces.length * this.#backlog
  }

  ingest(): Promise<CpuCost> {
    const first = this.#ingestedRounds * this.#backlog
    this.#ingestedRounds += 1
    const batches = this.workspaces.map(({ tenantId, channelId, number }) => ({
      tenantId,
      channelId,
      phones: Array.from({ length: this.#backlog }, (_, index) => toPhone(number, first + index)),
      body: `hi, this is round ${this.#ingestedRounds}`,
    }))
    return this.#measure(this.#workers.slice(0, 1), (worker) => worker.execute('ingest', batches))
  }

  /** Processes all mailboxes with the given number of workers. */
  advance(workers: number): Promise<CpuCost> {
    return this.#runWorkers(workers, 'advance', 'mailbox_items')
  }

  send(): Promise<CpuCost> {
    return this.#runWorkers(1, 'deliver', 'outbox')
  }

  /** Processes all mailboxes with the baseline script, which only executes the SQL statements. */
  advanceBaseline(): Promise<CpuCost> {
    return this.#measure([this.#baseline], (baseline) => baseline.execute('advance', this.workspaces))
  }

  async close(): Promise<void> {
    await this.database.end()
    await Promise.all([...this.#workers, this.#baseline].map((process) => process.stop()))
  }

  async #runWorkers(count: number, task: string, table: string): Promise<CpuCost> {
    const workers = this.#workers.slice(0, count)
    const cost = await this.#measure(workers, async (worker) => {
      await worker.execute('startWorker', [task])
      await this.#waitUntilEmpty(table)
    })
    for (const worker of workers) await worker.execute('stopWorker')
    return cost
  }

  async #waitUntilEmpty(table: string): Promise<void> {
    for (let isEmpty = false; !isEmpty; await delay(POLL_INTERVAL_MS)) {
      const { rows } = await this.database.query<{ hasRows: boolean }>(
        `select exists (select from ${table}) as "hasRows"`,
      )
      isEmpty = rows[0]?.hasRows === false
    }
  }

  #measure(processes: BenchProcess[], work: (process: BenchProcess) => Promise<unknown>): Promise<CpuCost> {
    const pids = processes.map(({ pid }) => pid)
    return measureCpuCost({ pids, postmasterPid: this.#postmasterPid, count: this.count }, async () => {
      await Promise.all(processes.map(work))
    })
  }
}
