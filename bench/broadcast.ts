import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { BenchProcess } from './bench-process.ts'
import { BroadcastWorkspace } from './broadcast-workspace.ts'
import { type CpuCost, measureCpuCost, totalCpu } from './cpu-cost.ts'
import { type BenchDatabase, toEnvironment, withTempDatabase } from './database.ts'
import { COST_COLUMNS, formatCostRow, formatLoadAverage, formatTable } from './format.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { formatSpread, percentile } from './stats.ts'

type Size = { recipients: number; large: number; rounds: number; seconds: number }

const HIGHEST_SPEED = 1000
const DEFAULT_SPEED = 60
const REPLIES_PER_SECOND = 5
const MB = 1024 * 1024

const REPLY_WORKFLOW = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'any' } }],
  settings: { reentry: 'parallel' },
  steps: [{ id: 'answer', type: 'send_message', message: { body: 'Hello {{contact.name}}, thanks!' } }],
}

/**
 * Measures broadcasts to a local provider: listing the recipients and sending, compared with a script of the same inserts
 * and HTTP calls; the memory of two sizes; and the time to a reply with and without a running broadcast.
 */
export function benchBroadcast(options: Partial<Size> = {}): Promise<string[]> {
  const size = { recipients: 10_000, large: 100_000, rounds: 3, seconds: 20, ...options }
  const initialLoad = formatLoadAverage()
  return withTempDatabase(async (benchDatabase) => {
    const bench = await BroadcastBench.open(benchDatabase)
    try {
      return [
        ...(await bench.compareCosts(size)),
        ...(await bench.measureReplies(size)),
        ...(await bench.measureMemory(size)),
        `${initialLoad} before, ${formatLoadAverage()} after`,
      ]
    } finally {
      await bench.close()
    }
  })
}

type Costs = { snapshot: CpuCost[]; send: CpuCost[] }

class BroadcastBench {
  readonly #database: pg.Client
  readonly #parley: ServerProcess
  readonly #baseline: BenchProcess
  readonly #workspace: BroadcastWorkspace
  readonly #postmasterPid: number
  #customers = 0

  private constructor(
    database: pg.Client,
    processes: { parley: ServerProcess; baseline: BenchProcess; postmasterPid: number },
    workspace: BroadcastWorkspace,
  ) {
    this.#database = database
    this.#parley = processes.parley
    this.#baseline = processes.baseline
    this.#postmasterPid = processes.postmasterPid
    this.#workspace = workspace
  }

  static async open(benchDatabase: BenchDatabase): Promise<BroadcastBench> {
    const { url, postmasterPid } = benchDatabase
    const environment = {
      ...toEnvironment(benchDatabase),
      ALLOW_LOOPBACK_CHANNELS: 'true',
      // The load generator and the provider share the machine.
      EVENT_LOOP_LAG_MAX_MS: '60000',
    }
    const parley = await startServer('./parley-server.ts', environment)
    const database = new pg.Client({ connectionString: url })
    await database.connect()
    database.on('error', () => undefined)
    const workspace = await BroadcastWorkspace.create(parley.url, database)
    const baseline = await BenchProcess.start('./baseline-broadcast.ts', { DATABASE_URL: url })
    return new BroadcastBench(database, { parley, baseline, postmasterPid }, workspace)
  }

  /** Alternates Parley and the baseline, after a small broadcast that is not recorded. */
  async compareCosts({ recipients, rounds }: Size): Promise<string[]> {
    await this.#workspace.setSpeed(HIGHEST_SPEED)
    await this.#runParley(200)
    const [parley, baseline]: [Costs, Costs] = [
      { snapshot: [], send: [] },
      { snapshot: [], send: [] },
    ]
    for (let round = 0; round < rounds; round += 1) {
      record(parley, await this.#runParley(recipients))
      record(baseline, await this.#runBaseline(recipients))
    }
    const ratio = (stage: keyof Costs) =>
      formatSpread(
        parley[stage].map((cost, round) => totalCpu(baseline[stage][round] as CpuCost) / Math.max(1, totalCpu(cost))),
      )
    return [
      `Broadcasts to ${recipients} recipients, one process, ${rounds} rounds; median (range)`,
      ...formatTable([
        ['per recipient', ...COST_COLUMNS],
        formatCostRow('snapshot: Parley', parley.snapshot),
        formatCostRow('snapshot: baseline script', baseline.snapshot),
        formatCostRow('send: Parley', parley.send),
        formatCostRow('send: baseline script', baseline.send),
      ]),
      `baseline ÷ Parley, CPU: ${ratio('snapshot')} for the snapshot, ${ratio('send')} for sending`,
    ]
  }

  /** Measures the time from the acknowledged webhook to the reply at the provider, without and with a broadcast. */
  async measureReplies({ seconds }: Size): Promise<string[]> {
    const { client } = this.#workspace
    const { id } = await client.post<{ id: string }>('/api/workflows', { name: 'Reply', definition: REPLY_WORKFLOW })
    await client.post(`/api/workflows/${id}/publish`, {})
    await this.#sampleReplies(5)
    const results: [name: string, times: number[]][] = [['no broadcast', await this.#sampleReplies(seconds)]]
    for (const perSecond of [DEFAULT_SPEED, HIGHEST_SPEED]) {
      const broadcastId = await this.#startLongBroadcast(perSecond, seconds)
      results.push([`broadcast, ${perSecond} per second at most`, await this.#sampleReplies(seconds)])
      await client.post(`/api/broadcasts/${broadcastId}/cancel`, {})
    }
    await client.post(`/api/workflows/${id}/unpublish`, {})
    const [[, without] = ['', []]] = results
    return [
      `Time to a reply at ${REPLIES_PER_SECOND} messages per second for ${seconds} s:`,
      ...formatTable([
        ['ms', 'p50', 'p95', 'p50 relative to no broadcast'],
        ...results.map(([name, times]) => [
          name,
          percentile(times, 50).toFixed(0),
          percentile(times, 95).toFixed(0),
          (percentile(times, 50) / percentile(without, 50)).toFixed(2),
        ]),
      ]),
    ]
  }

  /** Measures the highest memory of the process while recipients are listed and for some seconds of sending. */
  async measureMemory({ recipients, large, seconds }: Size): Promise<string[]> {
    const rows = [['recipients', 'snapshot s', 'highest resident memory MB']]
    for (const count of [recipients, large]) {
      const { client } = this.#workspace
      const broadcastId = await this.#workspace.createDraft(await this.#workspace.createAudience(count))
      await this.#workspace.setSpeed(HIGHEST_SPEED)
      const sampler = startMemorySampler(this.#parley.pid)
      const startMs = performance.now()
      await client.post(`/api/broadcasts/${broadcastId}/send`, {})
      await this.#workspace.waitUntil(broadcastId, ({ snapshotAt }) => snapshotAt !== null)
      const snapshotMs = performance.now() - startMs
      await delay(seconds * 1000)
      rows.push([String(count), (snapshotMs / 1000).toFixed(1), (sampler.stop() / MB).toFixed(0)])
      await client.post(`/api/broadcasts/${broadcastId}/cancel`, {}).catch(() => undefined)
    }
    return [`Memory of the process, snapshot and ${seconds} s of sending:`, ...formatTable(rows)]
  }

  async close(): Promise<void> {
    await this.#database.end()
    await this.#baseline.stop()
    await this.#parley.stop()
    await this.#workspace.provider.stop()
  }

  async #runParley(count: number): Promise<{ snapshot: CpuCost; send: CpuCost }> {
    const broadcastId = await this.#workspace.createDraft(await this.#workspace.createAudience(count))
    const processes = { pids: [this.#parley.pid], postmasterPid: this.#postmasterPid, count }
    await this.#workspace.setConnected(false)
    const snapshot = await measureCpuCost(processes, async () => {
      await this.#workspace.client.post(`/api/broadcasts/${broadcastId}/send`, {})
      await this.#workspace.waitUntil(broadcastId, ({ snapshotAt }) => snapshotAt !== null)
    })
    const send = await measureCpuCost(processes, async () => {
      await this.#workspace.setConnected(true)
      await this.#workspace.waitUntil(broadcastId, ({ status }) => status === 'completed')
    })
    return { snapshot, send }
  }

  async #runBaseline(count: number): Promise<{ snapshot: CpuCost; send: CpuCost }> {
    const { client, channelId, provider } = this.#workspace
    const language = await this.#workspace.createAudience(count)
    const input = {
      tenantId: client.tenantId,
      channelId,
      broadcastId: await this.#workspace.createDraft(language),
      language,
      baseUrl: provider.url,
      phoneNumberId: provider.phoneNumberId,
      accessToken: provider.credentials.accessToken,
      payload: provider.accepted.at(-1)?.payload ?? {},
    }
    const processes = { pids: [this.#baseline.pid], postmasterPid: this.#postmasterPid, count }
    const snapshot = await measureCpuCost(processes, () => this.#baseline.execute('snapshot', input))
    const send = await measureCpuCost(processes, () => this.#baseline.execute('send', input))
    return { snapshot, send }
  }

  async #startLongBroadcast(perSecond: number, seconds: number): Promise<string> {
    const broadcastId = await this.#workspace.createDraft(await this.#workspace.createAudience(perSecond * seconds * 2))
    await this.#workspace.setSpeed(perSecond)
    await this.#workspace.client.post(`/api/broadcasts/${broadcastId}/send`, {})
    await this.#workspace.waitUntil(broadcastId, ({ snapshotAt }) => snapshotAt !== null)
    return broadcastId
  }

  /** Has new customers write at a steady rate; returns the times from the acknowledgement to the reply, in ms. */
  async #sampleReplies(seconds: number): Promise<number[]> {
    const times: Promise<number>[] = []
    for (let index = 0; index < seconds * REPLIES_PER_SECOND; index += 1) {
      times.push(this.#measureReply())
      await delay(1000 / REPLIES_PER_SECOND)
    }
    return Promise.all(times)
  }

  async #measureReply(): Promise<number> {
    const { provider } = this.#workspace
    this.#customers += 1
    const from = `4917${100_000_000 + this.#customers}`
    await provider.webhooks.sendText({ from, body: 'hi' })
    const acknowledgedMs = performance.now()
    for (;;) {
      const [reply] = provider.log.listFor(`+${from}`)
      if (reply) return Math.max(0, reply.atMs - acknowledgedMs)
      await delay(5)
    }
  }
}

function record(costs: Costs, { snapshot, send }: { snapshot: CpuCost; send: CpuCost }): void {
  costs.snapshot.push(snapshot)
  costs.send.push(send)
}

/** Reads the resident memory of a process repeatedly; `stop` returns the highest value in bytes. */
function startMemorySampler(pid: number): { stop(): number } {
  let highest = 0
  const timer = setInterval(() => {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1])
    highest = Math.max(highest, pages * 4096)
  }, 100)
  return {
    stop() {
      clearInterval(timer)
      return highest
    },
  }
}
