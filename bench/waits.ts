import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { BenchProcess } from './bench-process.ts'
import { type CpuCost, measureCpuCost, totalCpu } from './cpu-cost.ts'
import { type BenchDatabase, toEnvironment, withTempDatabase } from './database.ts'
import { COST_COLUMNS, formatCostRow, formatLoadAverage, formatTable } from './format.ts'
import { BenchClient } from './http-client.ts'
import { startServer } from './server-process.ts'
import { formatSpread } from './stats.ts'
import { describeWaitingRuns, insertWaitingRuns, makeTimersDue } from './waiting-runs.ts'

const FEW_RUNS = 1000
const TASK_EXECUTIONS = 200
const DUE_TIMERS = 1000

const WAIT_WORKFLOW = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'any' } }],
  settings: { reentry: 'parallel' },
  steps: [
    { id: 'wait', type: 'wait', for: '7d' },
    { id: 'send', type: 'send_message', message: { body: 'Hello again, {{contact.name}}' } },
  ],
}

/**
 * Measures the periodic task that fires due timers while very many runs wait, compared with few, and the time until runs
 * whose timers become due are answered.
 */
export async function benchWaits({ waiting = 1_000_000, rounds = 5 } = {}): Promise<string[]> {
  return withTempDatabase((fewDatabase) =>
    withTempDatabase(async (manyDatabase) => {
      const initialLoad = formatLoadAverage()
      const few = await WaitBench.open(fewDatabase, FEW_RUNS)
      const many = await WaitBench.open(manyDatabase, waiting)
      for (let round = 0; round <= rounds; round += 1) {
        for (const bench of round % 2 === 0 ? [few, many] : [many, few]) {
          await bench.measureTask({ isRecorded: round > 0 })
        }
      }
      const fewSeconds = await few.measureDueTimers()
      const manySeconds = await many.measureDueTimers()
      const ratios = many.costs.map((cost, round) => totalCpu(cost) / totalCpu(few.costs[round] as CpuCost))
      const lines = [
        `Periodic task that fires due timers, ${TASK_EXECUTIONS} executions with no due timer; median (range) of ${rounds} interleaved rounds`,
        ...formatTable([
          ['waiting runs', ...COST_COLUMNS],
          ...[few, many].map(({ count, costs }) => formatCostRow(String(count), costs)),
        ]),
        `${waiting} ÷ ${FEW_RUNS} waiting runs, CPU: ${formatSpread(ratios)}`,
        `query plan with ${FEW_RUNS}: ${await few.explainQuery()}`,
        `query plan with ${waiting}: ${await many.explainQuery()}`,
        `disk space with ${waiting}: ${await describeWaitingRuns(many.database)}`,
        `${DUE_TIMERS} timers that became due at once: answered in ${fewSeconds.toFixed(1)} s with ${FEW_RUNS} waiting runs, in ${manySeconds.toFixed(1)} s with ${waiting}`,
        `${initialLoad} before, ${formatLoadAverage()} after`,
      ]
      await few.close()
      await many.close()
      return lines
    }),
  )
}

type Parts = { database: pg.Client; benchDatabase: BenchDatabase; process: BenchProcess }

/** A workspace with waiting runs, and a process that fires their timers. */
class WaitBench {
  readonly count: number
  readonly database: pg.Client
  readonly costs: CpuCost[] = []
  readonly #benchDatabase: BenchDatabase
  readonly #process: BenchProcess

  private constructor(count: number, { database, benchDatabase, process }: Parts) {
    this.count = count
    this.database = database
    this.#benchDatabase = benchDatabase
    this.#process = process
  }

  static async open(benchDatabase: BenchDatabase, count: number): Promise<WaitBench> {
    const environment = toEnvironment(benchDatabase)
    const parley = await startServer('./parley-server.ts', environment)
    const client = new BenchClient(parley.url, 1)
    await client.signUp()
    const { id } = await client.post<{ id: string }>('/api/workflows', { name: 'Wait', definition: WAIT_WORKFLOW })
    await client.post(`/api/workflows/${id}/publish`, {})
    await client.post('/api/sandbox/messages', { phone: '+4915100000000', body: 'hi' })
    const database = new pg.Client({ connectionString: benchDatabase.url })
    await database.connect()
    const isWaiting = async () => (await database.query('select from run_waits')).rowCount === 1
    while (!(await isWaiting())) await delay(20)
    await parley.stop()
    await insertWaitingRuns(benchDatabase, count - 1)
    const process = await BenchProcess.start('./timer-process.ts', environment)
    return new WaitBench(count, { database, benchDatabase, process })
  }

  async measureTask({ isRecorded }: { isRecorded: boolean }): Promise<void> {
    const { postmasterPid } = this.#benchDatabase
    const cost = await measureCpuCost(
      { pids: [this.#process.pid], postmasterPid, count: TASK_EXECUTIONS },
      async () => {
        await this.#process.execute('fireDueTimers', TASK_EXECUTIONS)
      },
    )
    if (isRecorded) this.costs.push(cost)
  }

  /** Makes timers due and returns the seconds until a worker, as in production, has answered all of them. */
  async measureDueTimers(): Promise<number> {
    const worker = await startServer('./parley-server.ts', { ...toEnvironment(this.#benchDatabase), ROLES: 'worker' })
    const startMs = performance.now()
    await makeTimersDue(this.database, DUE_TIMERS)
    while ((await this.#countAnswers()) !== DUE_TIMERS) await delay(20)
    const seconds = (performance.now() - startMs) / 1000
    await worker.stop()
    return seconds
  }

  async #countAnswers(): Promise<number> {
    const { rows } = await this.database.query<{ count: number }>(
      `select count(*)::int as count from messages where direction = 'outbound' and status = 'delivered'`,
    )
    return rows[0]?.count ?? 0
  }

  /** Explains the query that finds due timers. */
  async explainQuery(): Promise<string> {
    const { rows } = await this.database.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, buffers, costs off, timing off) select tenant_id, run_id from run_waits where due_at <= now()
       order by due_at limit 500 for update skip locked`,
    )
    return rows
      .map((row) => row['QUERY PLAN'].trim())
      .filter((line) => /Scan|Buffers: shared|Execution/.test(line))
      .slice(0, 4)
      .join('; ')
  }

  async close(): Promise<void> {
    await this.#process.stop()
    await this.database.end()
  }
}
