import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { CitusDatabase } from '../chaos/citus-database.ts'
import { retry } from '../src/platform/concurrency/retry.ts'
import { withClient } from '../src/platform/embedded-postgres/connection.ts'
import { listNodes } from '../test/support/citus.ts'
import { type CpuCost, readChildrenCpuMs, readCpuMs, totalCpu } from './cpu-cost.ts'
import { hasPendingWork, toEnvironment } from './database.ts'
import { FakeProvider } from './fake-provider.ts'
import { COST_COLUMNS, formatCostRow, formatLoadAverage, formatTable } from './format.ts'
import { FOUR_STEP_WORKFLOW } from './four-step-workflow.ts'
import { BenchClient } from './http-client.ts'
import { runConcurrently } from './run-concurrently.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { formatSpread, rotate, sum } from './stats.ts'
import { WhatsAppNumber } from './whatsapp-number.ts'
import { toPhone } from './workspaces.ts'

const CONCURRENCY = 20
const CONTACTS = 300
/** Messages of a round of which each is sent when the one before is answered. */
const ALONE_PART = 5
const IDLE_MS = 4000
const WARM_UP = 400

export type DistributedSize = { workspaces: number; messages: number; rounds: number }
/** A database with a Parley process of its own. */
type Variant = {
  name: string
  server: ServerProcess
  numbers: WhatsAppNumber[]
  connection: pg.Client
  atOnce: CpuCost[]
  alone: CpuCost[]
  idle: number[]
}

/** The processor time of an answer on a distributed database, divided by that on a plain one, in each round. */
export type DistributedCost = { atOnce: number[]; alone: number[]; lines: string[] }

/**
 * Measures the answers to messages on a distributed database, with the processor time of all nodes, compared with a plain
 * database on the server of the coordinator. The process of the other database is stopped meanwhile, and what the one
 * measured and its nodes do when nothing arrives is subtracted.
 */
export async function compareDistributed(
  coordinatorUrl: string,
  options: Partial<DistributedSize> = {},
): Promise<DistributedCost> {
  const size = { workspaces: 20, messages: 1000, rounds: 3, ...options }
  const initialLoad = formatLoadAverage()
  const bench = await DistributedBench.start(coordinatorUrl, size)
  try {
    for (let round = 0; round < size.rounds; round += 1) await bench.runRound(round)
    const cost = bench.compare()
    return { ...cost, lines: [...cost.lines, `${initialLoad} before, ${formatLoadAverage()} after`] }
  } finally {
    await bench.stop()
  }
}

/** @throws Error unless `CITUS_URL` names the coordinator of a cluster on this machine */
export async function benchDistributed(options: Partial<DistributedSize>): Promise<string[]> {
  const { CITUS_URL } = process.env
  if (CITUS_URL === undefined) throw new Error('Set CITUS_URL to the URL of the coordinator of a cluster of Citus')
  return (await compareDistributed(CITUS_URL, options)).lines
}

class DistributedBench {
  readonly #size: DistributedSize
  readonly #provider = new FakeProvider()
  readonly #variants: Variant[] = []
  readonly #closers: (() => Promise<unknown>)[] = []
  /** The servers of the coordinator and of the nodes, whose children are measured. */
  #postmasters: number[] = []
  #sent = 0

  private constructor(size: DistributedSize) {
    this.#size = size
  }

  static async start(coordinatorUrl: string, size: DistributedSize): Promise<DistributedBench> {
    const bench = new DistributedBench(size)
    try {
      await bench.#open(coordinatorUrl)
      return bench
    } catch (error) {
      await bench.stop()
      throw error
    }
  }

  async #open(coordinatorUrl: string): Promise<void> {
    this.#postmasters = await Promise.all((await listNodes(coordinatorUrl)).map(readPostmasterPid))
    const providerUrl = await this.#provider.start()
    const citus = await CitusDatabase.create(coordinatorUrl)
    this.#closers.push(() => citus.stop())
    await citus.start()
    const plainUrl = await createPlainDatabase(coordinatorUrl)
    this.#closers.push(() => dropDatabase(coordinatorUrl, plainUrl))
    const { dataDir } = citus
    await this.#add('one PostgreSQL server', { url: plainUrl, dataDir, providerUrl })
    await this.#add('Citus', { url: citus.url, dataDir, providerUrl })
    for (const variant of this.#variants) await this.#withOthersStopped(variant, () => this.#warmUp(variant))
  }

  async #add(
    name: string,
    { url, dataDir, providerUrl }: { url: string; dataDir: string; providerUrl: string },
  ): Promise<void> {
    const server = await startServer('./parley-server.ts', {
      ...toEnvironment({ url, dataDir, adminUrl: url, postmasterPid: 0 }),
      ALLOW_LOOPBACK_CHANNELS: 'true',
    })
    this.#closers.push(() => server.stop())
    const connection = new pg.Client({ connectionString: url })
    connection.on('error', () => undefined)
    await connection.connect()
    this.#closers.push(() => connection.end())
    const numbers: WhatsAppNumber[] = []
    for (let index = 0; index < this.#size.workspaces; index += 1)
      numbers.push(await createAnsweringNumber(server.url, index, providerUrl))
    this.#variants.push({ name, server, numbers, connection, atOnce: [], alone: [], idle: [] })
  }

  /** Lets the process, its pools and the caches of the nodes reach their usual state. */
  async #warmUp(variant: Variant): Promise<void> {
    await this.#sendAlone(variant, this.#size.workspaces)
    await this.#sendAtOnce(variant, WARM_UP)
  }

  async runRound(round: number): Promise<void> {
    const { messages } = this.#size
    for (const variant of rotate(this.#variants, round)) {
      await this.#withOthersStopped(variant, async () => {
        const idle = await this.#measure(variant, IDLE_MS, () => delay(IDLE_MS))
        variant.idle.push(totalCpu(idle))
        const net = ({ perSecond, nodeUs, databaseUs }: CpuCost): CpuCost => ({
          perSecond,
          nodeUs: nodeUs - (idle.nodeUs * 1000) / perSecond,
          databaseUs: databaseUs - (idle.databaseUs * 1000) / perSecond,
        })
        variant.atOnce.push(net(await this.#measure(variant, messages, () => this.#sendAtOnce(variant, messages))))
        const alone = Math.ceil(messages / ALONE_PART)
        variant.alone.push(net(await this.#measure(variant, alone, () => this.#sendAlone(variant, alone))))
      })
    }
  }

  compare(): DistributedCost {
    const [plain, citus] = this.#variants as [Variant, Variant]
    const divide = (costs: CpuCost[], bases: CpuCost[]) =>
      costs.map((cost, round) => totalCpu(cost) / totalCpu(bases[round] as CpuCost))
    const atOnce = divide(citus.atOnce, plain.atOnce)
    const alone = divide(citus.alone, plain.alone)
    const table = (toCosts: (variant: Variant) => CpuCost[]) =>
      formatTable([['database', ...COST_COLUMNS], ...this.#variants.map((v) => formatCostRow(v.name, toCosts(v)))])
    const { workspaces, messages, rounds } = this.#size
    const lines = [
      `Answers of ${workspaces} numbers, ${rounds} interleaved rounds; median (range) of each message, without idle work`,
      `${messages} messages, concurrency ${CONCURRENCY}:`,
      ...table(({ atOnce }) => atOnce),
      `Citus ÷ one server, total CPU: ${formatSpread(atOnce)}`,
      `${Math.ceil(messages / ALONE_PART)} messages, each alone:`,
      ...table(({ alone }) => alone),
      `Citus ÷ one server, total CPU: ${formatSpread(alone)}`,
      ...this.#variants.map(
        ({ name, idle }) => `${name}, without messages: ${formatSpread(idle.map((us) => us / 10))} % of a core`,
      ),
    ]
    return { atOnce, alone, lines }
  }

  async stop(): Promise<void> {
    for (const close of this.#closers.toReversed()) await close().catch(() => undefined)
    this.#provider.stop()
  }

  /** The other processes do nothing meanwhile, and their connections are idle. */
  async #withOthersStopped(variant: Variant, work: () => Promise<void>): Promise<void> {
    const others = this.#variants.filter((other) => other !== variant).map(({ server }) => server.pid)
    for (const pid of others) process.kill(pid, 'SIGSTOP')
    try {
      await work()
    } finally {
      for (const pid of others) process.kill(pid, 'SIGCONT')
    }
  }

  async #measure(variant: Variant, count: number, work: () => Promise<void>): Promise<CpuCost> {
    const read = () => ({
      nodeMs: readCpuMs(variant.server.pid),
      databaseMs: sum(this.#postmasters.map(readChildrenCpuMs)),
      atMs: performance.now(),
    })
    const start = read()
    await work()
    const end = read()
    return {
      perSecond: (count * 1000) / (end.atMs - start.atMs),
      nodeUs: ((end.nodeMs - start.nodeMs) * 1000) / count,
      databaseUs: ((end.databaseMs - start.databaseMs) * 1000) / count,
    }
  }

  async #sendAtOnce(variant: Variant, count: number): Promise<void> {
    this.#provider.answers.length = 0
    await runConcurrently(count, CONCURRENCY, () => this.#send(variant))
    while (this.#provider.answers.length < count) await delay(5)
    while (await hasPendingWork(variant.connection)) await delay(20)
  }

  async #sendAlone(variant: Variant, count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      this.#provider.answers.length = 0
      await this.#send(variant)
      while (this.#provider.answers.length === 0) await delay(2)
    }
    while (await hasPendingWork(variant.connection)) await delay(20)
  }

  async #send({ numbers }: Variant): Promise<void> {
    this.#sent += 1
    const workspace = this.#sent % numbers.length
    const phone = toPhone(workspace, Math.floor(this.#sent / numbers.length) % CONTACTS)
    const body = `hi ${this.#sent}`
    // A provider repeats a webhook that is answered with 503. On a busy machine, the first statements take seconds.
    const send = () => numbers[workspace]?.sendWebhook(phone, body)
    await retry(async () => send(), { isRetryable: () => true, attemptsMax: 10, delayMs: 100 })
  }
}

async function createAnsweringNumber(url: string, index: number, baseUrl: string): Promise<WhatsAppNumber> {
  const client = new BenchClient(url, CONCURRENCY)
  await client.signUp()
  const { id } = await client.post<{ id: string }>('/api/workflows', { name: 'Four', definition: FOUR_STEP_WORKFLOW })
  await client.post(`/api/workflows/${id}/publish`, {})
  return WhatsAppNumber.connect(client, index, baseUrl)
}

async function readPostmasterPid(url: string): Promise<number> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ pid: number }>(
      `select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int as pid`,
    )
    return rows[0]?.pid ?? 0
  })
}

/** Creates an empty database without the extension, which the process migrates. */
async function createPlainDatabase(coordinatorUrl: string): Promise<string> {
  const url = new URL(coordinatorUrl)
  url.pathname = `/bench_${randomBytes(6).toString('hex')}`
  await withClient(coordinatorUrl, (client) => client.query(`create database ${url.pathname.slice(1)}`))
  return url.href
}

async function dropDatabase(coordinatorUrl: string, url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1)
  await withClient(coordinatorUrl, (client) => client.query(`drop database if exists ${name} with (force)`))
}
