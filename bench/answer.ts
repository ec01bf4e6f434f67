import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { type CpuCost, measureCpuCost, totalCpu } from './cpu-cost.ts'
import { hasPendingWork, toEnvironment, withTempDatabase } from './database.ts'
import { FakeProvider } from './fake-provider.ts'
import { COST_COLUMNS, formatCostRow, formatLoadAverage, formatTable } from './format.ts'
import { FOUR_STEP_WORKFLOW } from './four-step-workflow.ts'
import { BenchClient } from './http-client.ts'
import { runConcurrently } from './run-concurrently.ts'
import { startServer } from './server-process.ts'
import { formatSpread } from './stats.ts'
import { WhatsAppNumber } from './whatsapp-number.ts'
import { toPhone } from './workspaces.ts'

const CONCURRENCY = 100
/** Contacts of each number. */
const CONTACTS = 300

type Size = { workspaces: number; messages: number; rounds: number }
type Answerer = { client: BenchClient; number: WhatsAppNumber; workflowId: string }

/**
 * Measures messages that one process answers end to end, from the webhook to the provider, compared with storing the same
 * messages only.
 */
export async function benchAnswer(options: Partial<Size> = {}): Promise<string[]> {
  const size = { workspaces: 20, messages: 2000, rounds: 5, ...options }
  const { workspaces, messages, rounds } = size
  const initialLoad = formatLoadAverage()
  return withTempDatabase(async (benchDatabase) => {
    const { adminUrl, postmasterPid, url } = benchDatabase
    const provider = new FakeProvider()
    const baseUrl = await provider.start()
    const environment = { ...toEnvironment(benchDatabase), ALLOW_LOOPBACK_CHANNELS: 'true' }
    const parley = await startServer('./parley-server.ts', environment)
    const answerers: Answerer[] = []
    for (let index = 0; index < workspaces; index += 1) answerers.push(await createAnswerer(parley.url, index, baseUrl))
    const database = new pg.Client({ connectionString: url })
    await database.connect()
    database.on('error', () => undefined)
    const statistics = new ServerStatistics(adminUrl, messages)
    const runRound = () =>
      measureCpuCost({ pids: [parley.pid], postmasterPid, count: messages }, async () => {
        await sendWebhooks(answerers, messages)
        while (await hasPendingWork(database)) await delay(5)
      })
    await runRound()
    const storeCosts: CpuCost[] = []
    const answerCosts: CpuCost[] = []
    provider.answers.length = 0
    for (let round = 0; round < rounds; round += 1) {
      storeCosts.push(await runRound())
      for (const { client, workflowId } of answerers) await client.post(`/api/workflows/${workflowId}/publish`, {})
      answerCosts.push(await statistics.measure(runRound))
      for (const { client, workflowId } of answerers) await client.post(`/api/workflows/${workflowId}/unpublish`, {})
    }
    const answers = provider.answers.length
    await database.end()
    await parley.stop()
    provider.stop()
    const ratios = answerCosts.map((cost, round) => totalCpu(storeCosts[round] as CpuCost) / totalCpu(cost))
    return [
      `Webhooks of ${workspaces} numbers, concurrency ${CONCURRENCY}, ${rounds} interleaved rounds of ${messages}; median (range); ${answers} answers at the provider for ${rounds * messages} messages`,
      ...formatTable([
        ['variant', ...COST_COLUMNS],
        formatCostRow('stored only', storeCosts),
        formatCostRow('stored and answered in four steps', answerCosts),
      ]),
      `stored only ÷ answered, total CPU: ${formatSpread(ratios)}`,
      statistics.describe(),
      `${initialLoad} before, ${formatLoadAverage()} after`,
    ]
  })
}

async function createAnswerer(url: string, index: number, baseUrl: string): Promise<Answerer> {
  const client = new BenchClient(url, CONCURRENCY)
  await client.signUp()
  const { id } = await client.post<{ id: string }>('/api/workflows', { name: 'Four', definition: FOUR_STEP_WORKFLOW })
  return { client, workflowId: id, number: await WhatsAppNumber.connect(client, index, baseUrl) }
}

async function sendWebhooks(answerers: Answerer[], messages: number): Promise<void> {
  await runConcurrently(messages, CONCURRENCY, async (index) => {
    const workspace = index % answerers.length
    const contact = Math.floor(index / answerers.length) % CONTACTS
    await answerers[workspace]?.number.sendWebhook(toPhone(workspace, contact), `hi ${index}`)
  })
}

type Counters = { transactions: number; syncs: number; walBytes: number }

/** Transactions, flushes and bytes of the write-ahead log per message, by the statistics of the server. */
class ServerStatistics {
  readonly #url: string
  readonly #messages: number
  readonly #rounds: Counters[] = []

  constructor(adminUrl: string, messages: number) {
    this.#url = adminUrl
    this.#messages = messages
  }

  async measure<T>(work: () => Promise<T>): Promise<T> {
    const before = await this.#read()
    const result = await work()
    const after = await this.#read()
    const difference = (name: keyof Counters) => (after[name] - before[name]) / this.#messages
    this.#rounds.push({
      transactions: difference('transactions'),
      syncs: difference('syncs'),
      walBytes: difference('walBytes'),
    })
    return result
  }

  describe(): string {
    const format = (name: keyof Counters, digits: number) =>
      formatSpread(
        this.#rounds.map((round) => round[name]),
        digits,
      )
    return `per answer: ${format('transactions', 2)} transactions, ${format('syncs', 2)} flushes of the log, ${format('walBytes', 0)} bytes of log`
  }

  async #read(): Promise<Counters> {
    // Backends report their statistics at most once a second.
    await delay(1500)
    const client = new pg.Client({ connectionString: this.#url })
    await client.connect()
    const { rows } = await client.query<Record<keyof Counters, string>>(
      `select (select sum(xact_commit) from pg_stat_database) as transactions,
         (select sum(fsyncs) from pg_stat_io where object = 'wal') as syncs,
         (select wal_bytes from pg_stat_wal) as "walBytes"`,
    )
    await client.end()
    const [row] = rows
    return {
      transactions: Number(row?.transactions),
      syncs: Number(row?.syncs),
      walBytes: Number(row?.walBytes),
    }
  }
}
