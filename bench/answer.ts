import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { type CpuCost, measureCpuCost, totalCpu } from './cpu-cost.ts'
import { type BenchDatabase, hasPendingWork, toEnvironment, withTempDatabase } from './database.ts'
import { FakeProvider } from './fake-provider.ts'
import { COST_COLUMNS, formatCostRow, formatLoadAverage, formatTable } from './format.ts'
import { FOUR_STEP_WORKFLOW } from './four-step-workflow.ts'
import { BenchClient } from './http-client.ts'
import { runConcurrently } from './run-concurrently.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { ServerStatistics } from './server-statistics.ts'
import { formatSpread, median, rotate } from './stats.ts'
import { WebhookReceiver } from './webhook-receiver.ts'
import { buildWebhook, WhatsAppNumber } from './whatsapp-number.ts'
import { toPhone } from './workspaces.ts'

const CONCURRENCY = 100
/** Contacts of each number. */
const CONTACTS = 300
/** Messages of which each is sent when the one before is answered. */
const ALONE = 200
/** Time in which what follows an answer ends. */
const SETTLE_MS = 20
const IDLE_MS = 4000

const STORED = 'Parley: stored only'
const ANSWERED = 'Parley: stored and answered in four steps'
const WITH_ENDPOINTS = 'Parley: the same, and events sent to endpoints'
const WITH_METRICS = 'Parley: the same, and metrics counted'
const SEVEN_ROWS = 'baseline: seven rows in one transaction'
const SAME_ROWS = 'baseline: the rows of an answer, and the provider'

/**
 * `endpoints` of each workspace get its events of messages in an additional variant, if there are any. With `metrics` only
 * answers with and without metrics are compared, in one process.
 */
type Size = { workspaces: number; messages: number; rounds: number; endpoints: number; metrics: number }
type Answerer = { client: BenchClient; number: WhatsAppNumber; workflowId: string; endpointIds: string[] }
type Send = (workspace: number, phone: string, body: string) => Promise<void>
type Variant = {
  name: string
  pid: number
  send: Send
  isAnswered: boolean
  costs: CpuCost[]
  alone: CpuCost[]
  /** From a message alone to its answer, the median of each round. */
  aloneMs: number[]
}

/**
 * Measures messages that one process answers end to end, from the webhook to the provider, compared with storing the same
 * messages only, and with two plain ways to store an answer; then messages of which each is sent alone.
 */
export function benchAnswer(options: Partial<Size> = {}): Promise<string[]> {
  const size = { workspaces: 20, messages: 2000, rounds: 5, endpoints: 0, metrics: 0, ...options }
  const initialLoad = formatLoadAverage()
  return withTempDatabase(async (database) => {
    const bench = await AnswerBench.start(database, size)
    try {
      for (let round = 0; round < size.rounds; round += 1) await bench.runRound(round)
      if (size.metrics > 0)
        return [...(await bench.reportMetrics()), `${initialLoad} before, ${formatLoadAverage()} after`]
      for (let round = 0; round < size.rounds; round += 1) await bench.runAlone(round)
      return [...bench.report(), `${initialLoad} before, ${formatLoadAverage()} after`]
    } finally {
      await bench.stop()
    }
  })
}

class AnswerBench {
  readonly #size: Size
  readonly #postmasterPid: number
  readonly #connection: pg.Client
  readonly #statistics: ServerStatistics
  readonly #provider = new FakeProvider()
  readonly #receiver = new WebhookReceiver()
  readonly #servers: ServerProcess[] = []
  readonly #answerers: Answerer[] = []
  readonly #variants: Variant[] = []
  /** Answers of Parley in the recorded rounds. */
  #answers = 0
  /** Events that reached endpoints in the recorded rounds. */
  #delivered = 0

  private constructor({ adminUrl, postmasterPid, url }: BenchDatabase, size: Size) {
    this.#size = size
    this.#postmasterPid = postmasterPid
    this.#connection = new pg.Client({ connectionString: url })
    this.#connection.on('error', () => undefined)
    this.#statistics = new ServerStatistics(adminUrl, size.messages)
  }

  static async start(database: BenchDatabase, size: Size): Promise<AnswerBench> {
    const bench = new AnswerBench(database, size)
    await bench.#connection.connect()
    const providerUrl = await bench.#provider.start()
    const environment = { ...toEnvironment(database), ALLOW_LOOPBACK_CHANNELS: 'true', PROVIDER_URL: providerUrl }
    const parley = await startServer('./parley-server.ts', environment)
    bench.#servers.push(parley)
    for (let index = 0; index < size.workspaces; index += 1)
      bench.#answerers.push(await createAnswerer(parley.url, index, providerUrl))
    const receiverUrl = await bench.#receiver.start()
    for (const answerer of bench.#answerers) await addEndpoints(answerer, receiverUrl, size.endpoints)
    const send: Send = async (workspace, phone, body) => bench.#answerers[workspace]?.number.sendWebhook(phone, body)
    const add = (name: string, pid: number, send: Send, isAnswered = false) =>
      bench.#variants.push({ name, pid, send, isAnswered, costs: [], alone: [], aloneMs: [] })
    if (size.metrics === 0) add(STORED, parley.pid, send)
    add(ANSWERED, parley.pid, send, true)
    if (size.metrics > 0) add(WITH_METRICS, parley.pid, send, true)
    if (size.endpoints > 0) add(WITH_ENDPOINTS, parley.pid, send, true)
    // The rows of the baseline are those of an answer, so it starts after the first ones.
    for (const variant of bench.#variants) await bench.#measure(variant)
    if (size.metrics > 0) return bench
    const baseline = await startServer('./baseline-answer.ts', environment)
    bench.#servers.push(baseline)
    const client = new BenchClient(baseline.url, CONCURRENCY)
    const sendTo =
      (path: string): Send =>
      (_, phone, body) =>
        client.postText(path, buildWebhook('1', phone, body), {})
    add(SEVEN_ROWS, baseline.pid, sendTo('/seven'))
    add(SAME_ROWS, baseline.pid, sendTo('/rows'))
    for (const variant of bench.#variants.slice(-2)) await bench.#measure(variant)
    return bench
  }

  /** Measures every variant, in rotating order. */
  async runRound(round: number): Promise<void> {
    for (const variant of rotate(this.#variants, round)) {
      const before = this.#receiver.count
      variant.costs.push(await this.#measure(variant, { isRecorded: true }))
      if (variant.name === ANSWERED) this.#answers += this.#provider.answers.length
      this.#delivered += this.#receiver.count - before
    }
  }

  /** Measures messages one after the other, without what the processes and the database do when nothing arrives. */
  async runAlone(round: number): Promise<void> {
    const variants = this.#variants.filter(({ name }) => name !== STORED)
    for (const variant of rotate(variants, round)) {
      const delaysMs: number[] = []
      const idle = await this.#measureCpu(variant, IDLE_MS, () => delay(IDLE_MS))
      const busy = await this.#withWorkflows(variant, () =>
        this.#measureCpu(variant, ALONE, () => this.#sendAlone(variant, delaysMs)),
      )
      variant.aloneMs.push(median(delaysMs))
      const idleMs = 1000 / busy.perSecond
      variant.alone.push({
        perSecond: busy.perSecond,
        nodeUs: busy.nodeUs - idle.nodeUs * idleMs,
        databaseUs: busy.databaseUs - idle.databaseUs * idleMs,
      })
    }
  }

  report(): string[] {
    const { workspaces, messages, rounds } = this.#size
    const find = (name: string) => this.#variants.find((variant) => variant.name === name) as Variant
    const answered = find(ANSWERED)
    const compare = (name: string, toCosts: (variant: Variant) => CpuCost[]) => {
      const costs = toCosts(find(name))
      return formatSpread(toCosts(answered).map((cost, round) => totalCpu(cost) / totalCpu(costs[round] as CpuCost)))
    }
    const atLoad = ({ costs }: Variant) => costs
    const alone = (variant: Variant) => variant.alone
    return [
      `Webhooks of ${workspaces} numbers, concurrency ${CONCURRENCY}, ${rounds} interleaved rounds of ${messages}; median (range); ${this.#answers} answers at the provider for ${rounds * messages} messages`,
      ...formatTable([
        ['variant', ...COST_COLUMNS],
        ...this.#variants.map(({ name, costs }) => formatCostRow(name, costs)),
      ]),
      `answered, total CPU: ${compare(STORED, atLoad)} times stored only, ${compare(SEVEN_ROWS, atLoad)} times seven rows, ${compare(SAME_ROWS, atLoad)} times the same rows`,
      this.#statistics.describe(),
      `${ALONE} messages per round, each alone:`,
      ...formatTable([
        ['variant', ...COST_COLUMNS.slice(1)],
        ...this.#variants.flatMap((variant) =>
          variant.alone.length > 0 ? [formatCostRow(variant.name, variant.alone).toSpliced(1, 1)] : [],
        ),
      ]),
      `answered alone, total CPU: ${compare(SEVEN_ROWS, alone)} times seven rows, ${compare(SAME_ROWS, alone)} times the same rows`,
      ...this.#reportEndpoints(answered),
    ]
  }

  async reportMetrics(): Promise<string[]> {
    const { workspaces, messages, rounds } = this.#size
    const [without, counted] = this.#variants
    const compare = (read: (cost: CpuCost) => number) =>
      formatSpread(counted?.costs.map((cost, round) => read(cost) / read(without?.costs[round] as CpuCost)) ?? [], 3)
    const scrapes: [number, number][] = []
    for (let index = 0; index < 20; index += 1)
      scrapes.push((await this.#servers[0]?.ask<[number, number]>('scrape')) ?? [0, 0])
    return [
      `Webhooks of ${workspaces} numbers, concurrency ${CONCURRENCY}, ${rounds} interleaved rounds of ${messages}; median (range)`,
      ...formatTable([
        ['variant', ...COST_COLUMNS],
        ...this.#variants.map(({ name, costs }) => formatCostRow(name, costs)),
      ]),
      `with metrics ÷ without: CPU of Node ${compare(({ nodeUs }) => nodeUs)}, total CPU ${compare(totalCpu)}, answers per second ${compare(({ perSecond }) => perSecond)}`,
      `a scrape: ${formatSpread(
        scrapes.map(([ms]) => ms),
        1,
      )} ms, ${scrapes[0]?.[1]} series`,
    ]
  }

  /** The CPU of the variant with endpoints includes the deliveries, its throughput only the answers. */
  #reportEndpoints({ costs, aloneMs }: Variant): string[] {
    const { endpoints, rounds, messages } = this.#size
    const variant = this.#variants.find(({ name }) => name === WITH_ENDPOINTS)
    if (!variant) return []
    const throughput = variant.costs.map(({ perSecond }, round) => perSecond / (costs[round]?.perSecond ?? 0))
    const cpu = variant.costs.map((cost, round) => totalCpu(cost) / totalCpu(costs[round] as CpuCost))
    const latency = variant.aloneMs.map((ms, round) => (aloneMs[round] ?? 0) / ms)
    const perMessage = this.#delivered / (rounds * messages)
    return [
      `with ${endpoints} endpoints of each workspace, compared with none: ${formatSpread(throughput)} of the answers per second, ${formatSpread(cpu)} times the total CPU with ${perMessage.toFixed(1)} deliveries per message`,
      `alone, ms from a message to its answer: ${formatSpread(aloneMs, 1)} without endpoints, ${formatSpread(variant.aloneMs, 1)} with; without ÷ with ${formatSpread(latency)}`,
    ]
  }

  async stop(): Promise<void> {
    await this.#connection.end()
    for (const server of this.#servers) await server.stop()
    this.#provider.stop()
    this.#receiver.stop()
  }

  async #measure(variant: Variant, { isRecorded = false } = {}): Promise<CpuCost> {
    const { messages } = this.#size
    this.#provider.answers.length = 0
    let answeredMs = 0
    const answerAll = async () => {
      const startMs = performance.now()
      await runConcurrently(messages, CONCURRENCY, (index) => this.#send(variant, index))
      while (variant.name === SAME_ROWS && this.#provider.answers.length < messages) await delay(5)
      while (await hasPendingWork(this.#connection)) await delay(5)
      answeredMs = performance.now() - startMs
      while (variant.name === WITH_ENDPOINTS && (await hasUnsentEvents(this.#connection))) await delay(20)
    }
    const measure = () => this.#measureCpu(variant, messages, answerAll)
    const isDescribed = isRecorded && variant.name === ANSWERED
    const cost = await this.#withWorkflows(variant, () => (isDescribed ? this.#statistics.measure(measure) : measure()))
    return { ...cost, perSecond: (messages * 1000) / answeredMs }
  }

  #measureCpu({ pid }: Variant, count: number, work: () => Promise<void>): Promise<CpuCost> {
    return measureCpuCost({ pids: [pid], postmasterPid: this.#postmasterPid, count }, work)
  }

  #send({ send }: Variant, index: number): Promise<void> {
    const { workspaces } = this.#size
    const workspace = index % workspaces
    return send(workspace, toPhone(workspace, Math.floor(index / workspaces) % CONTACTS), `hi ${index}`)
  }

  async #sendAlone(variant: Variant, delaysMs: number[]): Promise<void> {
    for (let index = 0; index < ALONE; index += 1) {
      this.#provider.answers.length = 0
      const startMs = performance.now()
      await this.#send(variant, index)
      while (variant.name !== SEVEN_ROWS && this.#provider.answers.length === 0) await delay(5)
      delaysMs.push((this.#provider.answers[0]?.atMs ?? performance.now()) - startMs)
      await delay(SETTLE_MS)
    }
  }

  /** Executes work while the workflows that answer are published, and the endpoints of the variant enabled. */
  async #withWorkflows<T>(variant: Variant, work: () => Promise<T>): Promise<T> {
    if (!variant.isAnswered) return work()
    await this.#servers[0]?.ask(variant.name === WITH_METRICS ? 'metrics' : 'no metrics')
    const setEndpoints = async (status: 'enabled' | 'disabled') => {
      if (variant.name !== WITH_ENDPOINTS) return
      for (const { client, endpointIds } of this.#answerers)
        for (const id of endpointIds) await client.patch(`/api/webhook-endpoints/${id}`, { status })
    }
    for (const { client, workflowId } of this.#answerers) await client.post(`/api/workflows/${workflowId}/publish`, {})
    await setEndpoints('enabled')
    const result = await work()
    await setEndpoints('disabled')
    for (const { client, workflowId } of this.#answerers)
      await client.post(`/api/workflows/${workflowId}/unpublish`, {})
    return result
  }
}

async function createAnswerer(url: string, index: number, baseUrl: string): Promise<Answerer> {
  const client = new BenchClient(url, CONCURRENCY)
  await client.signUp()
  const { id } = await client.post<{ id: string }>('/api/workflows', { name: 'Four', definition: FOUR_STEP_WORKFLOW })
  return { client, workflowId: id, number: await WhatsAppNumber.connect(client, index, baseUrl), endpointIds: [] }
}

/** Adds endpoints that are disabled. */
async function addEndpoints({ client, endpointIds }: Answerer, url: string, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const { id } = await client.post<{ id: string }>('/api/webhook-endpoints', { url, types: ['message.*'] })
    await client.patch(`/api/webhook-endpoints/${id}`, { status: 'disabled' })
    endpointIds.push(id)
  }
}

async function hasUnsentEvents(database: pg.Client): Promise<boolean> {
  const { rows } = await database.query<{ isUnsent: boolean }>(
    `select exists (select from webhook_endpoints e join event_positions p using (tenant_id)
       where e.status = 'enabled' and (e.position < p.position or e.leased_until is not null
         or exists (select from events n where n.tenant_id = e.tenant_id and n.position is null))) as "isUnsent"`,
  )
  return rows[0]?.isUnsent ?? true
}
