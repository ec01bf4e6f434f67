import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { BenchProcess } from './bench-process.ts'
import { BenchCaller } from './caller.ts'
import { type BenchDatabase, environmentOf, withThrowAwayDatabase } from './database.ts'
import { costOf, type Effort, effortOf, effortRow, loadOfMachine, spread, table } from './measure.ts'
import { startServer } from './servers.ts'
import { describeSleepers, insertSleepers, wakeSome } from './sleepers.ts'

const FEW = 1000
const TICKS = 200
const DUE_AT_ONCE = 1000

const NAP = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'any' } }],
  settings: { reentry: 'parallel' },
  steps: [
    { id: 'nap', type: 'wait', for: '7d' },
    { id: 'wake', type: 'send_message', message: { body: 'Good morning, {{contact.name}}' } },
  ],
}

/** What the duty that looks for due waits costs while very many runs sleep, against a few; and how soon the due are answered. */
export async function benchWaits({ sleeping = 1_000_000, rounds = 5 } = {}): Promise<string[]> {
  return withThrowAwayDatabase((few) =>
    withThrowAwayDatabase(async (many) => {
      const load = loadOfMachine()
      const small = await Sleep.open(few, FEW)
      const large = await Sleep.open(many, sleeping)
      for (let round = 0; round <= rounds; round += 1) {
        const turn = round % 2 === 0 ? [small, large] : [large, small]
        for (const sleep of turn) await sleep.tick(round > 0)
      }
      const answeredSmall = await small.wake()
      const answeredLarge = await large.wake()
      const ratio = large.ticks.map((sample, n) => costOf(sample) / costOf(small.ticks[n] as Effort))
      const lines = [
        `The duty that wakes waits, ${TICKS} times with nothing due; median (range) of ${rounds} interleaved rounds`,
        ...table([
          ['sleeping', 'per second', 'Node CPU µs', 'Postgres CPU µs', 'CPU µs in all'],
          ...[small, large].map(({ count, ticks }) => effortRow(String(count), ticks)),
        ]),
        `${sleeping} sleeping ÷ ${FEW} sleeping, CPU: ${spread(ratio)}`,
        `plan with ${FEW}: ${await small.plan()}`,
        `plan with ${sleeping}: ${await large.plan()}`,
        `on disk with ${sleeping}: ${await describeSleepers(large.database)}`,
        `${DUE_AT_ONCE} due at once were answered in ${answeredSmall.toFixed(1)} s with ${FEW} sleeping, in ${answeredLarge.toFixed(1)} s with ${sleeping}`,
        `${load} before, ${loadOfMachine()} after`,
      ]
      await small.close()
      await large.close()
      return lines
    }),
  )
}

/** A workspace in which runs sleep, and a process that looks after them. */
class Sleep {
  readonly count: number
  readonly database: pg.Client
  readonly ticks: Effort[] = []
  readonly #environment: Record<string, string>
  readonly #postmasterPid: number
  readonly #process: BenchProcess

  private constructor(count: number, given: { database: pg.Client; of: BenchDatabase; process: BenchProcess }) {
    this.count = count
    this.database = given.database
    this.#environment = environmentOf(given.of)
    this.#postmasterPid = given.of.postmasterPid
    this.#process = given.process
  }

  static async open(of: BenchDatabase, count: number): Promise<Sleep> {
    const environment = environmentOf(of)
    const parley = await startServer('./parley-server.ts', environment)
    const caller = new BenchCaller(parley.url, 1)
    await caller.signUp()
    const { id } = await caller.post<{ id: string }>('/api/workflows', { name: 'Nap', definition: NAP })
    await caller.post(`/api/workflows/${id}/publish`, {})
    await caller.post('/api/sandbox/messages', { phone: '+4915100000000', body: 'good night' })
    const database = new pg.Client({ connectionString: of.url })
    await database.connect()
    const isAsleep = async () => (await database.query('select from run_waits')).rowCount === 1
    while (!(await isAsleep())) await delay(20)
    await parley.stop()
    await insertSleepers(of, count - 1)
    return new Sleep(count, { database, of, process: await BenchProcess.start('./waits-process.ts', environment) })
  }

  async tick(isKept: boolean): Promise<void> {
    const effort = await effortOf(
      { pids: [this.#process.pid], postmasterPid: this.#postmasterPid, count: TICKS },
      async () => {
        await this.#process.do('wake', TICKS)
      },
    )
    if (isKept) this.ticks.push(effort)
  }

  /** Seconds until all that are made due are answered, by one worker as it is in production. */
  async wake(): Promise<number> {
    const worker = await startServer('./parley-server.ts', { ...this.#environment, ROLES: 'worker' })
    const beganMs = performance.now()
    await wakeSome(this.database, DUE_AT_ONCE)
    const answered = `select count(*)::int as n from messages where direction = 'outbound' and status = 'delivered'`
    while ((await this.database.query<{ n: number }>(answered)).rows[0]?.n !== DUE_AT_ONCE) await delay(20)
    const seconds = (performance.now() - beganMs) / 1000
    await worker.stop()
    return seconds
  }

  async plan(): Promise<string> {
    const { rows } = await this.database.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, buffers, costs off, timing off) select tenant_id, run_id from run_waits where due_at <= now()
       order by due_at limit 500 for update skip locked`,
    )
    const said = rows.map((row) => row['QUERY PLAN'].trim())
    return said
      .filter((line) => /Scan|Buffers: shared|Execution/.test(line))
      .slice(0, 4)
      .join('; ')
  }

  async close(): Promise<void> {
    await this.#process.stop()
    await this.database.end()
  }
}
