import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { BenchProcess } from './bench-process.ts'
import { type CpuCost, measureCpuCost, totalCpu } from './cpu-cost.ts'
import { type BenchDatabase, toEnvironment, withTempDatabase } from './database.ts'
import { COST_COLUMNS, formatCostRow, formatLoadAverage, formatTable } from './format.ts'
import { BenchClient } from './http-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { formatSpread, rotate } from './stats.ts'
import { WebhookReceiver } from './webhook-receiver.ts'

/** Contacts of one call. */
const ITEMS = 500
const IDLE_MS = 4000

type Size = { rounds: number; backlog: number }
type Variant = { name: string; costs: CpuCost[]; measure: () => Promise<CpuCost> }

/**
 * Measures a worker that sends thousands of waiting events to one endpoint, compared with a loop that signs and posts the
 * same bodies to the same receiver. The receiver is in the process of the bench, which is not measured.
 */
export function benchWebhooks(options: Partial<Size> = {}): Promise<string[]> {
  const size = { rounds: 7, backlog: 3000, ...options }
  return withTempDatabase(async (database) => {
    const initialLoad = formatLoadAverage()
    const bench = await WebhookBench.start(database, size)
    try {
      const variants: Variant[] = [
        { name: 'Parley', costs: [], measure: () => bench.deliver() },
        { name: 'baseline: sign and post', costs: [], measure: () => bench.post() },
      ]
      // The first round fills the caches and is not recorded.
      for (let round = 0; round <= size.rounds; round += 1) {
        await bench.createEvents()
        for (const { costs, measure } of round === 0 ? variants : rotate(variants, round)) {
          const cost = await measure()
          if (round > 0) costs.push(cost)
        }
      }
      return [...formatReport(variants, size), `${initialLoad} before, ${formatLoadAverage()} after`]
    } finally {
      await bench.stop()
    }
  })
}

function formatReport(variants: Variant[], { backlog, rounds }: Size): string[] {
  const [parley, baseline] = variants
  const compare = (toValue: (cost: CpuCost) => number) =>
    formatSpread((baseline?.costs ?? []).map((cost, round) => toValue(cost) / toValue(parley?.costs[round] as CpuCost)))
  return [
    `${backlog} waiting events to one endpoint with their contacts; ${rounds} interleaved rounds; per event, median (range); without what an idle worker does`,
    ...formatTable([['variant', ...COST_COLUMNS], ...variants.map(({ name, costs }) => formatCostRow(name, costs))]),
    `baseline ÷ Parley: ${compare(({ nodeUs }) => nodeUs)} of the Node CPU, ${compare(totalCpu)} of the total CPU, ${compare(({ perSecond }) => 1 / perSecond)} of the time`,
  ]
}

class WebhookBench {
  readonly #size: Size
  readonly #postmasterPid: number
  readonly #connection: pg.Client
  readonly #receiver = new WebhookReceiver()
  #receiverUrl = ''
  #servers: { http: ServerProcess; worker: ServerProcess; baseline: BenchProcess } | undefined
  #client: BenchClient | undefined
  #contacts = 0

  private constructor({ postmasterPid, url }: BenchDatabase, size: Size) {
    this.#size = size
    this.#postmasterPid = postmasterPid
    this.#connection = new pg.Client({ connectionString: url })
    this.#connection.on('error', () => undefined)
  }

  static async start(database: BenchDatabase, size: Size): Promise<WebhookBench> {
    const bench = new WebhookBench(database, size)
    await bench.#connection.connect()
    const url = await bench.#receiver.start()
    bench.#receiverUrl = url
    const environment = { ...toEnvironment(database), ALLOW_LOOPBACK_CHANNELS: 'true' }
    const http = await startServer('./parley-server.ts', { ...environment, ROLES: 'http' })
    const worker = await startServer('./parley-server.ts', { ...environment, ROLES: 'worker' })
    const baseline = await BenchProcess.start('./baseline-webhooks.ts', {})
    bench.#servers = { http, worker, baseline }
    bench.#client = new BenchClient(http.url, 1)
    await bench.#client.signUp()
    await bench.#client.post('/api/webhook-endpoints', { url, types: ['contact.*'], payload: 'full' })
    return bench
  }

  /** Creates events while the endpoint rests. */
  async createEvents(): Promise<void> {
    await this.#connection.query(`update webhook_endpoints set paused_until = 'infinity'`)
    for (const end = this.#contacts + this.#size.backlog; this.#contacts < end; this.#contacts += ITEMS) {
      const items = Array.from({ length: Math.min(ITEMS, end - this.#contacts) }, (_, index) => {
        const number = String(this.#contacts + index).padStart(8, '0')
        return { name: `Contact ${number}`, phone: `+4915${number}`, email: `contact${number}@shop.example` }
      })
      await this.#client?.post('/api/contacts/bulk', { items })
    }
  }

  async deliver(): Promise<CpuCost> {
    const pids = [this.#servers?.worker.pid ?? 0]
    const idle = await this.#measure(pids, IDLE_MS, () => delay(IDLE_MS))
    const before = this.#receiver.count
    const cost = await this.#measure(pids, this.#size.backlog, async () => {
      await this.#connection.query('update webhook_endpoints set paused_until = null')
      await this.#connection.query(`select pg_notify('parley_events', $1)`, [this.#client?.tenantId])
      while (this.#receiver.count - before < this.#size.backlog) await delay(5)
      while (await this.#isSending()) await delay(5)
    })
    const sent = this.#receiver.count - before
    if (sent !== this.#size.backlog) throw new Error(`${sent} events arrived instead of ${this.#size.backlog}`)
    const idleMs = 1000 / cost.perSecond
    return {
      ...cost,
      nodeUs: cost.nodeUs - idle.nodeUs * idleMs,
      databaseUs: cost.databaseUs - idle.databaseUs * idleMs,
    }
  }

  /** The loop has no part in what the database does meanwhile. */
  async post(): Promise<CpuCost> {
    const { baseline } = this.#servers ?? {}
    const batch = { url: this.#receiverUrl, count: this.#size.backlog, event: this.#receiver.lastEvent }
    const cost = await this.#measure([baseline?.pid ?? 0], batch.count, async () => {
      await baseline?.execute('post', batch)
    })
    return { ...cost, databaseUs: 0 }
  }

  async stop(): Promise<void> {
    const { http, worker, baseline } = this.#servers ?? {}
    await this.#connection.end()
    await Promise.all([http?.stop(), worker?.stop(), baseline?.stop()])
    this.#receiver.stop()
  }

  #measure(pids: number[], count: number, work: () => Promise<void>): Promise<CpuCost> {
    return measureCpuCost({ pids, postmasterPid: this.#postmasterPid, count }, work)
  }

  async #isSending(): Promise<boolean> {
    const { rows } = await this.#connection.query<{ isSending: boolean }>(
      'select exists (select from webhook_endpoints where leased_until is not null) as "isSending"',
    )
    return rows[0]?.isSending ?? true
  }
}
