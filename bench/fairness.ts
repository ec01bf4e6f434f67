import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { BenchProcess } from './bench-process.ts'
import { databaseTime, environmentOf, isBusy, withThrowAwayDatabase } from './database.ts'
import { loadOfMachine, percentile, spread, table } from './measure.ts'
import { type BenchWorkspace, makeWorkspaces, phoneOf } from './workspaces.ts'

const PAUSE_MS = 40
const PEOPLE = 1000

type Size = { backlog: number; messages: number; rounds: number }
type Way = { name: string; floods: boolean; order: 'takeTurns' | 'takeTheOldest'; samples: number[][] }

/**
 * How long one workspace waits for its answers while another has thousands of messages waiting, against a quiet
 * machine; and the same where whoever came first is served first, whoever it is.
 */
export async function benchFairness(given: Partial<Size> = {}): Promise<string[]> {
  const size = { backlog: 5000, messages: 100, rounds: 3, ...given }
  return withThrowAwayDatabase(async (benchDatabase) => {
    const load = loadOfMachine()
    const environment = environmentOf(benchDatabase)
    const [loud, quiet] = (await makeWorkspaces(environment, { count: 2, people: PEOPLE })) as [
      BenchWorkspace,
      BenchWorkspace,
    ]
    const database = new pg.Client({ connectionString: benchDatabase.url })
    await database.connect()
    const bench = new FairnessBench({ environment, database, loud, quiet }, size)
    const ways: Way[] = [
      { name: 'nobody else writes', floods: false, order: 'takeTurns', samples: [] },
      { name: `${size.backlog} wait, workspaces take turns`, floods: true, order: 'takeTurns', samples: [] },
      { name: `${size.backlog} wait, the oldest comes first`, floods: true, order: 'takeTheOldest', samples: [] },
    ]
    await bench.play(ways[0] as Way)
    for (let round = 0; round < size.rounds; round += 1) for (const way of ways) way.samples.push(await bench.play(way))
    await database.end()
    return report(ways, size, `${load} before, ${loadOfMachine()} after`)
  })
}

function report(ways: Way[], { messages, rounds }: Size, load: string): string[] {
  const [alone] = ways as [Way]
  const column = ({ samples }: Way, percent: number) =>
    spread(
      samples.map((waits) => percentile(waits, percent)),
      0,
    )
  const ratio = (way: Way) =>
    spread(
      way.samples.map((waits, n) => percentile(waits, 95) / percentile(alone.samples[n] ?? [], 95)),
      1,
    )
  return [
    `One workspace gets a message every ${PAUSE_MS} ms, ${messages} in a round, one worker; from stored to answered, ms; median (range) of ${rounds} rounds`,
    ...table([
      ['while', 'p50', 'p95', 'max', 'p95 ÷ p95 alone'],
      ...ways.map((way) => [way.name, column(way, 50), column(way, 95), column(way, 100), ratio(way)]),
    ]),
    load,
  ]
}

type Stage = { environment: Record<string, string>; database: pg.Client; loud: BenchWorkspace; quiet: BenchWorkspace }

class FairnessBench {
  readonly #stage: Stage
  readonly #size: Size

  constructor(stage: Stage, size: Size) {
    this.#stage = stage
    this.#size = size
  }

  /** How long each of the quiet workspace's messages waited, in ms. */
  async play({ floods, order }: Way): Promise<number[]> {
    const { environment, loud, quiet, database } = this.#stage
    const writer = await BenchProcess.start('./stage-process.ts', environment)
    const worker = await BenchProcess.start('./fairness-process.ts', environment)
    if (floods) await writer.do('ingest', [writtenTo(loud, this.#size.backlog)])
    const since = await databaseTime(database)
    await worker.do(order)
    for (let n = 0; n < this.#size.messages; n += 1) {
      const due = performance.now() + PAUSE_MS
      await writer.do('ingest', [{ ...writtenTo(quiet, 1), phones: [phoneOf(quiet.number, n % PEOPLE)] }])
      await delay(Math.max(0, due - performance.now()))
    }
    while (await isBusy(database)) await delay(50)
    await worker.stop()
    await writer.stop()
    const { rows } = await database.query<{ ms: number }>(
      `select extract(epoch from o.delivered_at - i.created_at)::float8 * 1000 as ms
       from messages i join lateral (
         select delivered_at from messages where tenant_id = i.tenant_id and conversation_id = i.conversation_id
           and direction = 'outbound' and id > i.id order by id limit 1) o on true
       where i.tenant_id = $1 and i.direction = 'inbound' and i.created_at >= $2`,
      [quiet.tenantId, since],
    )
    if (rows.length !== this.#size.messages) throw new Error(`${rows.length} of ${this.#size.messages} were answered`)
    return rows.map(({ ms }) => ms)
  }
}

function writtenTo({ tenantId, channelId, number }: BenchWorkspace, count: number) {
  const phones = Array.from({ length: count }, (_, n) => phoneOf(number, n % PEOPLE))
  return { tenantId, channelId, phones, body: 'hi there' }
}
