import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sum } from '../bench/stats.ts'
import { withClient } from '../src/platform/embedded-postgres/connection.ts'
import {
  checkConversations,
  checkDelivery,
  checkOrders,
  checkStatuses,
  countUnknownDeliveries,
} from './conversation-invariants.ts'
import { accelerateBroadcast, type ChaosBroadcast, createBroadcast, getReport, startBroadcast } from './broadcast.ts'
import { checkBroadcasts } from './broadcast-invariants.ts'
import { CustomerFactory } from './customer-factory.ts'
import { type ChaosDatabase, createDatabase } from './database.ts'
import { checkDatabase } from './database-invariants.ts'
import { DatabaseSnapshot } from './database-snapshot.ts'
import { FakeShopServer } from './fake-shop-server.ts'
import { describeFault } from './faults/describe.ts'
import { injectFault, type InjectedFault } from './faults/inject.ts'
import { planFaults } from './faults/plan.ts'
import { checkFailpoints, checkProcesses, checkRecovery } from './fault-invariants.ts'
import { LoadGenerator } from './load-generator.ts'
import { ProcessPool } from './process-pool.ts'
import { Random } from './random.ts'
import type { ChaosReport } from './report.ts'
import { StandbyProcesses } from './standby-processes.ts'
import { startStatusSender, type StatusSender } from './status-sender.ts'
import { transpileWithLeases } from './shorten-leases.ts'
import { waitUntilIdle } from './wait-until-idle.ts'
import { WebhookSender } from './webhook-sender.ts'
import { createWorkspace, simulateProviderErrors, simulateTimeout, toInboundUrl, type Workspace } from './workspace.ts'

export type ChaosOptions = ChaosReport['options'] & {
  /** Time limit for processing all remaining work. */
  timeoutMs: number
  /** Coordinator of a cluster of Citus on this machine; a temporary server without it. */
  citusUrl?: string | undefined
  onProgress(line: string): void
}

/** Runs the chaos test on temporary servers and reports the injected faults and the checked invariants. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const startMs = performance.now()
  const database = await createDatabase(options.citusUrl)
  const script = transpileWithLeases(path.join(database.dataDir, 'code'), 'chaos/app-process-main.ts', options.leaseMs)
  const standby = new StandbyProcesses(script, options.workers)
  // Transpiling blocks the event loop for seconds, so the database is connected to afterwards.
  await database.start().catch(async (error: unknown) => {
    await standby.close()
    throw error
  })
  const pool = await ProcessPool.create({
    workers: options.workers,
    standby,
    databaseUrl: database.url,
    environment: {
      SECRET_KEY: 'ab'.repeat(32),
      MIGRATE_ON_START: 'true',
      DATA_DIR: database.dataDir,
      ALLOW_LOOPBACK_CHANNELS: 'true',
      LOG_LEVEL: 'silent',
      ...database.environment,
    },
    isDatabaseRunning: () => database.isRunning,
  })
  const shop = await FakeShopServer.start()
  const test = new ChaosTest(options, { database, pool, shop, startMs })
  const interrupted = new Promise<never>((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'])
      process.once(signal, () => reject(new Error(`The chaos test was interrupted by ${signal}`)))
  })
  try {
    return await Promise.race([test.run(), interrupted])
  } finally {
    await test.stop()
  }
}

/** Time that a fault takes, from experience. */
const SECONDS_PER_KILL = 5
const SECONDS_PER_FAULT = 15

/** Share of recipients whose message may be lost in a fault. */
const UNSENT_SHARE = 0.05

class ChaosTest {
  readonly #options: ChaosOptions
  readonly #startMs: number
  readonly #database: ChaosDatabase
  readonly #pool: ProcessPool
  readonly #shop: FakeShopServer
  readonly #random: Random
  readonly #sender: WebhookSender
  #workspaces: Workspace[] = []
  #broadcasts: ChaosBroadcast[] = []
  #faultsBeforeEnd = 0
  #statusSenders: StatusSender[] = []
  readonly #faults: InjectedFault[] = []
  #simulatedErrors = 0
  #stopped = false
  #startsBeforeDrain = 0
  readonly #seconds = { startup: 0, faults: 0, drain: 0 }
  #remainingWork: string[] = []

  constructor(
    options: ChaosOptions,
    dependencies: { database: ChaosDatabase; pool: ProcessPool; shop: FakeShopServer; startMs: number },
  ) {
    const { database, pool, shop, startMs } = dependencies
    this.#startMs = startMs
    this.#shop = shop
    this.#options = options
    this.#database = database
    this.#pool = pool
    this.#random = new Random(options.seed)
    this.#sender = new WebhookSender(this.#random.fork(), () => pool.urls.length > 0 && database.isRunning)
  }

  async run(): Promise<ChaosReport> {
    await this.#prepare()
    await this.#injectFaults()
    await this.#drain()
    return this.#verify()
  }

  async #prepare(): Promise<void> {
    this.#pool.start('http')
    await this.#pool.waitUntilReady('http')
    const url = this.#pool.urls[0] ?? ''
    this.#pool.start('worker')
    this.#workspaces = await Promise.all(
      Array.from({ length: this.#options.workspaces }, (_, number) =>
        createWorkspace(url, { number, orderServerUrl: this.#shop.url }),
      ),
    )
    await this.#pool.waitUntilReady('worker')
    this.#statusSenders = this.#workspaces.map((workspace) =>
      startStatusSender(this.#sender, workspace, this.#random.fork()),
    )
    void this.#updateCallbackUrls()
    await this.#prepareBroadcasts(url)
    this.#seconds.startup = secondsSince(this.#startMs)
    this.#options.onProgress(`${this.#seconds.startup.toFixed(1)} s: ready`)
  }

  /** Divides the recipients between the workspaces. The speed is such that the broadcasts last as long as the faults. */
  async #prepareBroadcasts(url: string): Promise<void> {
    const { broadcast, workspaces, kills, faults } = this.#options
    const count = Math.ceil(broadcast / workspaces)
    const perSecond = Math.max(1, Math.floor(count / (kills * SECONDS_PER_KILL + faults * SECONDS_PER_FAULT)))
    for (const [index, workspace] of this.#workspaces.entries()) {
      const first = index * count
      const size = { first, count: Math.min(count, broadcast - first), perSecond }
      if (size.count > 0) {
        workspace.provider.webhooks.callbackUrl = toInboundUrl(url, workspace.channelId)
        this.#broadcasts.push(await createBroadcast(url, workspace, size))
      }
    }
  }

  /** Injects faults while customers write; the share of customers that have started follows the share of faults done. */
  async #injectFaults(): Promise<void> {
    const { conversations, onProgress } = this.#options
    const startMs = performance.now()
    const plan = planFaults(new Random(this.#options.seed), this.#options)
    const load = new LoadGenerator({
      sender: this.#sender,
      workspaces: this.#workspaces,
      customers: new CustomerFactory(this.#random.fork()),
      random: this.#random.fork(),
    })
    const started = this.#broadcasts.map((broadcast) => startBroadcast(() => this.#pool.urls, broadcast))
    const loadDone = load.run(conversations, () => (this.#faults.length + 1) / (plan.length + 1))
    const random = this.#random.fork()
    for (const planned of plan) {
      this.#simulatedErrors += simulateProviderErrors(random.pick(this.#workspaces), random)
      if (this.#broadcasts.length > 0) this.#simulatedErrors += simulateTimeout(random.pick(this.#workspaces))
      const fault = await injectFault({ pool: this.#pool, database: this.#database, load }, planned)
      this.#faults.push(fault)
      if (this.#isBroadcasting()) this.#faultsBeforeEnd += 1
      const progress = `fault ${this.#faults.length} of ${plan.length}: ${describeFault(fault)}`
      onProgress(`${secondsSince(startMs).toFixed(1)} s: ${progress}`)
    }
    await Promise.all([loadDone, ...started])
    this.#seconds.faults = secondsSince(startMs)
  }

  /** Waits until no work remains. Nothing is restarted: the running processes have to find all work themselves. */
  async #drain(): Promise<void> {
    const { onProgress, timeoutMs } = this.#options
    const startMs = performance.now()
    await this.#pool.waitUntilAllReady()
    this.#pool.stopRefilling()
    this.#startsBeforeDrain = this.#pool.starts
    for (const broadcast of this.#broadcasts) await accelerateBroadcast(this.#pool.urls[0] ?? '', broadcast)
    await this.#sender.waitUntilIdle()
    onProgress('all customer messages are delivered; waiting until the remaining work is done')
    this.#remainingWork = await waitUntilIdle(this.#database.url, timeoutMs)
    for (const statusSender of this.#statusSenders) await statusSender.stop()
    await this.#sender.waitUntilIdle()
    this.#seconds.drain = secondsSince(startMs)
  }

  async #verify(): Promise<ChaosReport> {
    const { onProgress: _onProgress, timeoutMs: _timeoutMs, citusUrl: _citusUrl, ...options } = this.#options
    const url = this.#pool.urls[0] ?? ''
    const broadcasts = await Promise.all(
      this.#broadcasts.map(async (sent) => ({ ...sent, report: await getReport(url, sent) })),
    )
    const { snapshot, databaseResults, broadcast } = await withClient(this.#database.url, async (client) => ({
      broadcast: await checkBroadcasts(client, broadcasts),
      snapshot: await DatabaseSnapshot.read(client),
      databaseResults: await checkDatabase(client),
    }))
    return {
      options,
      conversations: sum(this.#workspaces.map(({ customers }) => customers.length)),
      seconds: this.#seconds,
      faults: this.#faults,
      starts: this.#pool.starts,
      failedStarts: this.#pool.failedStarts,
      startTimes: this.#pool.startTimes,
      webhooks: {
        delivered: this.#sender.delivered,
        requests: this.#sender.requests,
        duplicates: this.#sender.duplicates,
        failedRequests: [...this.#sender.failedRequests],
      },
      provider: {
        accepted: sum(this.#workspaces.map(({ provider }) => provider.accepted.length)),
        simulatedErrors: this.#simulatedErrors,
      },
      shop: { requests: sum([...this.#shop.requests.values()]), orders: this.#shop.orders.size },
      unknownDeliveries: countUnknownDeliveries(this.#workspaces, snapshot),
      broadcast: { ...broadcast.counts, faultsBeforeEnd: this.#faultsBeforeEnd },
      invariants: [
        ...(this.#options.broadcast > 0 ? broadcast.results : []),
        ...checkConversations(this.#workspaces, snapshot),
        checkDelivery(this.#workspaces, snapshot),
        checkStatuses(this.#workspaces, snapshot),
        checkOrders(this.#workspaces, snapshot, this.#shop),
        ...databaseResults,
        { name: 'all work is processed within the time limit', checked: 1, violations: this.#remainingWork },
        ...checkProcesses(this.#pool, this.#startsBeforeDrain),
        checkRecovery(this.#faults),
        checkFailpoints(this.#faults),
      ],
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#sender.close()
    await Promise.all(this.#statusSenders.map((statusSender) => statusSender.stop()))
    await this.#pool.stop()
    this.#shop.stop()
    for (const { provider } of this.#workspaces) await provider.stop()
    await this.#database.stop()
  }

  /** Returns true while a provider has not yet got the messages of all recipients, apart from a few in doubt. */
  #isBroadcasting(): boolean {
    return this.#broadcasts.some(({ workspace, people }) => {
      const { byRecipient } = workspace.provider.log
      return [...people.keys()].filter((phone) => !byRecipient.has(phone)).length > people.size * UNSENT_SHARE
    })
  }

  /** Points the providers to the HTTP processes in turn, as a load balancer does. */
  async #updateCallbackUrls(): Promise<void> {
    for (let turn = 0; !this.#stopped; turn += 1) {
      const { urls } = this.#pool
      const url = urls[turn % urls.length]
      if (url !== undefined)
        for (const { provider, channelId } of this.#workspaces)
          provider.webhooks.callbackUrl = toInboundUrl(url, channelId)
      await delay(20)
    }
  }
}

function secondsSince(startMs: number): number {
  return (performance.now() - startMs) / 1000
}
