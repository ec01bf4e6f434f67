import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { PROXY } from './api-client.ts'
import {
  accelerateBroadcast,
  type ChaosBroadcast,
  createBroadcasts,
  isBroadcasting,
  startBroadcast,
} from './broadcast.ts'
import { compileWithSettings } from './compile-with-settings.ts'
import { CustomerFactory } from './customer-factory.ts'
import { type ChaosDatabase, createDatabase } from './database.ts'
import { EventReceiver } from './event-receiver.ts'
import { FakeShopServer } from './fake-shop-server.ts'
import { describeFault } from './faults/describe.ts'
import { injectFault, type InjectedFault } from './faults/inject.ts'
import { planFaults } from './faults/plan.ts'
import { type FaultFreePhase, measureFaultFree } from './fault-free-phase.ts'
import { HangingChannels } from './hanging-channels.ts'
import { LoadGenerator } from './load-generator.ts'
import { ProcessPool } from './process-pool.ts'
import { Random } from './random.ts'
import type { ChaosReport } from './report.ts'
import { StandbyProcesses } from './standby-processes.ts'
import { startStatusSender, type StatusSender } from './status-sender.ts'
import { verify } from './verify.ts'
import { waitUntilIdle } from './wait-until-idle.ts'
import { WebhookSender } from './webhook-sender.ts'
import { createWorkspaces, simulateProviderErrors, simulateTimeout, toInboundUrl, type Workspace } from './workspace.ts'

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
  const script = await compileWithSettings(
    path.join(database.dataDir, 'code'),
    'chaos/app-process-main.ts',
    options.leaseMs,
  )
  const standby = new StandbyProcesses(script, options.workers)
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
      TRUSTED_PROXIES: PROXY,
      LOG_LEVEL: 'silent',
    },
    isDatabaseRunning: () => database.isRunning,
  })
  const shop = await FakeShopServer.start()
  const receiver = await EventReceiver.start(new Random(options.seed))
  const test = new ChaosTest(options, { database, pool, shop, receiver, startMs })
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

class ChaosTest {
  readonly #options: ChaosOptions
  readonly #startMs: number
  readonly #database: ChaosDatabase
  readonly #pool: ProcessPool
  readonly #shop: FakeShopServer
  readonly #receiver: EventReceiver
  readonly #random: Random
  readonly #sender: WebhookSender
  #workspaces: Workspace[] = []
  #hangingChannels: Workspace[] = []
  #broadcasts: ChaosBroadcast[] = []
  #faultsBeforeEnd = 0
  #statusSenders: StatusSender[] = []
  readonly #faults: InjectedFault[] = []
  #simulatedErrors = 0
  #stopped = false
  #startsBeforeDrain = 0
  readonly #seconds = { startup: 0, faultFree: 0, faults: 0, drain: 0 }
  #remainingWork: string[] = []

  constructor(
    options: ChaosOptions,
    dependencies: {
      database: ChaosDatabase
      pool: ProcessPool
      shop: FakeShopServer
      receiver: EventReceiver
      startMs: number
    },
  ) {
    const { database, pool, shop, receiver, startMs } = dependencies
    this.#receiver = receiver
    this.#startMs = startMs
    this.#shop = shop
    this.#options = options
    this.#database = database
    this.#pool = pool
    this.#random = new Random(options.seed)
    this.#sender = new WebhookSender(this.#random.fork(), () => pool.urls.length > 0 && database.isRunning)
  }

  async run(): Promise<ChaosReport> {
    const { load, hanging } = await this.#prepare()
    const faultFree = await this.#measureFaultFree(load, hanging)
    await this.#injectFaults(load, hanging)
    hanging.mode = 'at_once'
    await this.#drain()
    return verify({
      options: this.#options,
      database: this.#database,
      pool: this.#pool,
      shop: this.#shop,
      receiver: this.#receiver,
      sender: this.#sender,
      workspaces: this.#workspaces,
      hanging,
      faultFree,
      broadcasts: this.#broadcasts,
      faultsBeforeEnd: this.#faultsBeforeEnd,
      faults: this.#faults,
      simulatedErrors: this.#simulatedErrors,
      startsBeforeDrain: this.#startsBeforeDrain,
      seconds: this.#seconds,
      remainingWork: this.#remainingWork,
    })
  }

  async #prepare(): Promise<{ load: LoadGenerator; hanging: HangingChannels }> {
    this.#pool.start('http')
    await this.#pool.waitUntilReady('http')
    const url = this.#pool.urls[0] ?? ''
    this.#pool.start('worker')
    this.#workspaces = await createWorkspaces(url, this.#options.workspaces, this.#shop.url)
    await this.#receiver.createEndpoints(url, this.#workspaces)
    const number = this.#workspaces.length
    const hanging = await HangingChannels.create(url, { number, orderServerUrl: this.#shop.url })
    this.#hangingChannels = hanging.workspaces
    await this.#pool.waitUntilReady('worker')
    this.#statusSenders = this.#workspaces.map((workspace) =>
      startStatusSender(this.#sender, workspace, this.#random.fork()),
    )
    this.#broadcasts = await createBroadcasts(url, this.#workspaces, this.#options)
    this.#seconds.startup = secondsSince(this.#startMs)
    this.#options.onProgress(`${this.#seconds.startup.toFixed(1)} s: ready`)
    const load = new LoadGenerator({
      sender: this.#sender,
      workspaces: this.#workspaces,
      customers: new CustomerFactory(this.#random.fork()),
      random: this.#random.fork(),
    })
    return { load, hanging }
  }

  /** All webhooks go to one process, and only then to all in turn. */
  async #measureFaultFree(load: LoadGenerator, hanging: HangingChannels): Promise<FaultFreePhase> {
    const startMs = performance.now()
    const { url: databaseUrl } = this.#database
    const [process] = this.#pool.listReady('http')
    const phase = await measureFaultFree({ load, workspaces: this.#workspaces, hanging, process, databaseUrl })
    void this.#updateCallbackUrls()
    this.#seconds.faultFree = secondsSince(startMs)
    return phase
  }

  /** Injects faults while customers write; the share of customers that have started follows the share of faults done. */
  async #injectFaults(load: LoadGenerator, hanging: HangingChannels): Promise<void> {
    const { conversations, onProgress } = this.#options
    const startMs = performance.now()
    const plan = planFaults(new Random(this.#options.seed), this.#options)
    let isDone = false
    const hangingLoad = hanging.writeUntil(load, () => isDone)
    const started = this.#broadcasts.map((broadcast) => startBroadcast(() => this.#pool.urls, broadcast))
    const loadDone = load.run(conversations, () => (this.#faults.length + 1) / (plan.length + 1))
    const random = this.#random.fork()
    for (const planned of plan) {
      hanging.changeMode(random)
      this.#receiver.injectFault(random)
      this.#simulatedErrors += simulateProviderErrors(random.pick(this.#workspaces), random)
      if (this.#broadcasts.length > 0) this.#simulatedErrors += simulateTimeout(random.pick(this.#workspaces))
      const fault = await injectFault({ pool: this.#pool, database: this.#database, load }, planned)
      this.#faults.push(fault)
      if (this.#broadcasts.some(isBroadcasting)) this.#faultsBeforeEnd += 1
      const progress = `fault ${this.#faults.length} of ${plan.length}: ${describeFault(fault)}`
      onProgress(`${secondsSince(startMs).toFixed(1)} s: ${progress}`)
    }
    isDone = true
    await Promise.all([loadDone, hangingLoad, ...started])
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
    await this.#receiver.waitUntilWell()
    await waitUntilIdle(this.#database.url, timeoutMs)
    for (const statusSender of this.#statusSenders) await statusSender.stop()
    await this.#sender.waitUntilIdle()
    // The last statuses are events, too.
    this.#remainingWork = await waitUntilIdle(this.#database.url, timeoutMs)
    this.#seconds.drain = secondsSince(startMs)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#sender.close()
    await Promise.all(this.#statusSenders.map((statusSender) => statusSender.stop()))
    await this.#pool.stop()
    this.#shop.stop()
    await this.#receiver.stop()
    for (const { provider } of [...this.#workspaces, ...this.#hangingChannels]) await provider.stop()
    await this.#database.stop()
  }

  /** Points the providers to the HTTP processes in turn, as a load balancer does. */
  async #updateCallbackUrls(): Promise<void> {
    for (let turn = 0; !this.#stopped; turn += 1) {
      const { urls } = this.#pool
      const url = urls[turn % urls.length]
      if (url !== undefined)
        for (const { provider, channelId } of [...this.#workspaces, ...this.#hangingChannels])
          provider.webhooks.callbackUrl = toInboundUrl(url, channelId)
      await delay(20)
    }
  }
}

function secondsSince(startMs: number): number {
  return (performance.now() - startMs) / 1000
}
