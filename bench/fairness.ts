import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { BenchProcess } from './bench-process.ts'
import { hasPendingWork, readDatabaseTime, toEnvironment, withTempDatabase } from './database.ts'
import { formatLoadAverage, formatTable } from './format.ts'
import { formatSpread, percentile } from './stats.ts'
import { type BenchWorkspace, createWorkspaces, toPhone } from './workspaces.ts'

const INTERVAL_MS = 40
const CONTACTS = 1000

type Size = { backlog: number; messages: number; rounds: number }
/** `samples` are the latencies of each round, in ms. */
type Variant = {
  name: string
  hasBacklog: boolean
  command: 'startFairWorker' | 'startFifoWorker'
  samples: number[][]
}

/**
 * Measures the answer latency of one workspace while another has thousands of pending messages, compared with an idle
 * system and with a worker that processes messages in order of arrival.
 */
export async function benchFairness(options: Partial<Size> = {}): Promise<string[]> {
  const size = { backlog: 5000, messages: 100, rounds: 3, ...options }
  return withTempDatabase(async (benchDatabase) => {
    const initialLoad = formatLoadAverage()
    const environment = toEnvironment(benchDatabase)
    const [busy, quiet] = (await createWorkspaces(environment, { count: 2, contacts: CONTACTS })) as [
      BenchWorkspace,
      BenchWorkspace,
    ]
    const database = new pg.Client({ connectionString: benchDatabase.url })
    await database.connect()
    const bench = new FairnessBench({ environment, database, busy, quiet }, size)
    const idle: Variant = { name: 'no other messages', hasBacklog: false, command: 'startFairWorker', samples: [] }
    const variants: Variant[] = [
      idle,
      { name: `${size.backlog} pending, round-robin`, hasBacklog: true, command: 'startFairWorker', samples: [] },
      { name: `${size.backlog} pending, oldest first`, hasBacklog: true, command: 'startFifoWorker', samples: [] },
    ]
    await bench.measure(idle)
    for (let round = 0; round < size.rounds; round += 1)
      for (const variant of variants) variant.samples.push(await bench.measure(variant))
    await database.end()
    return [...formatReport(variants, size), `${initialLoad} before, ${formatLoadAverage()} after`]
  })
}

function formatReport(variants: Variant[], { messages, rounds }: Size): string[] {
  const [idle] = variants as [Variant]
  const formatPercentile = ({ samples }: Variant, percent: number) =>
    formatSpread(
      samples.map((latencies) => percentile(latencies, percent)),
      0,
    )
  const formatRatio = ({ samples }: Variant) =>
    formatSpread(
      samples.map((latencies, round) => percentile(latencies, 95) / percentile(idle.samples[round] ?? [], 95)),
      1,
    )
  return [
    `One message every ${INTERVAL_MS} ms to one workspace, ${messages} per round, one worker; latency from stored to answered in ms; median (range) of ${rounds} rounds`,
    ...formatTable([
      ['messages of another workspace', 'p50', 'p95', 'max', 'p95 ÷ p95 without others'],
      ...variants.map((variant) => [
        variant.name,
        ...[50, 95, 100].map((percent) => formatPercentile(variant, percent)),
        formatRatio(variant),
      ]),
    ]),
  ]
}

type Setup = { environment: Record<string, string>; database: pg.Client; busy: BenchWorkspace; quiet: BenchWorkspace }

class FairnessBench {
  readonly #setup: Setup
  readonly #size: Size

  constructor(setup: Setup, size: Size) {
    this.#setup = setup
    this.#size = size
  }

  /** Measures the latency of each message of the quiet workspace, in ms. */
  async measure({ hasBacklog, command }: Variant): Promise<number[]> {
    const { environment, busy, quiet, database } = this.#setup
    const { backlog, messages } = this.#size
    const writer = await BenchProcess.start('./stage-process.ts', environment)
    const worker = await BenchProcess.start('./fairness-process.ts', environment)
    if (hasBacklog) {
      const phones = Array.from({ length: backlog }, (_, index) => toPhone(busy.number, index % CONTACTS))
      await writer.execute('ingest', [toBatch(busy, phones)])
    }
    const since = await readDatabaseTime(database)
    await worker.execute(command)
    for (let index = 0; index < messages; index += 1) {
      const nextMs = performance.now() + INTERVAL_MS
      await writer.execute('ingest', [toBatch(quiet, [toPhone(quiet.number, index % CONTACTS)])])
      await delay(Math.max(0, nextMs - performance.now()))
    }
    while (await hasPendingWork(database)) await delay(50)
    await worker.stop()
    await writer.stop()
    const latencies = await this.#readLatencies(since)
    if (latencies.length !== messages) throw new Error(`Only ${latencies.length} of ${messages} messages were answered`)
    return latencies
  }

  async #readLatencies(since: Date): Promise<number[]> {
    const { rows } = await this.#setup.database.query<{ ms: number }>(
      `select extract(epoch from o.delivered_at - i.created_at)::float8 * 1000 as ms
       from messages i join lateral (
         select delivered_at from messages where tenant_id = i.tenant_id and conversation_id = i.conversation_id
           and direction = 'outbound' and id > i.id order by id limit 1) o on true
       where i.tenant_id = $1 and i.direction = 'inbound' and i.created_at >= $2`,
      [this.#setup.quiet.tenantId, since],
    )
    return rows.map(({ ms }) => ms)
  }
}

function toBatch({ tenantId, channelId }: BenchWorkspace, phones: string[]) {
  return { tenantId, channelId, phones, body: 'hi there' }
}
