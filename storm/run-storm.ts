import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { withClient } from '../src/platform/embedded-postgres/cluster/connection.ts'
import { MINUTE } from '../src/platform/time.ts'
import { checkRows } from './check-rows.ts'
import { comeToRest } from './come-to-rest.ts'
import { compileInto } from './compile.ts'
import { Crowd } from './crowd.ts'
import { StormDatabase } from './database.ts'
import { Fleet } from './fleet.ts'
import { type Check, checkConversations, checkOrders, checkSends, checkStatuses, countDoubts } from './invariants.ts'
import { describe, planKillings, strike, type Struck } from './killings.ts'
import { Population } from './population.ts'
import { PostOffice } from './post-office.ts'
import { Random } from './random.ts'
import { Recorded } from './read-records.ts'
import type { StormReport } from './report.ts'
import { Reserve } from './reserve.ts'
import { Shop } from './shop.ts'
import { tellStatuses } from './tell-statuses.ts'
import { inboundUrl, openWorkspace, type ProviderHabit, type Workspace } from './workspace.ts'

export type StormOptions = StormReport['options'] & {
  /** How long it may take until nothing is left to do. */
  patienceMs: number
  progress(line: string): void
}

/**
 * So much later the last processes live: what the dead had claimed has been without an outcome for too long by then. No
 * living one may see its clock jump, or a call under way would outlast its claim, which by a clock that goes it cannot.
 */
const LATER_MS = 4 * MINUTE

const HABITS: ProviderHabit[] = [
  { tells: true, isAhead: false },
  { tells: true, isAhead: true },
  { tells: false, isAhead: false },
]

/** Raises a storm on servers of its own and says what it did and what holds afterwards. */
export async function runStorm(options: StormOptions): Promise<StormReport> {
  const beganMs = performance.now()
  const database = await StormDatabase.make()
  const starting = database.start()
  const main = compileInto(path.join(database.dataDir, 'code'), 'storm/parley-main.ts')
  const reserve = new Reserve(main, options.workers)
  await starting.catch(async (error: unknown) => {
    await reserve.close()
    throw error
  })
  const fleet = new Fleet({
    workers: options.workers,
    reserve,
    environment: {
      DATABASE_URL: database.url,
      SECRET_KEY: 'ab'.repeat(32),
      DATA_DIR: database.dataDir,
      STORM_DATA_DIR: database.dataDir,
      ALLOW_LOOPBACK_CHANNELS: 'true',
      LOG_LEVEL: 'silent',
    },
    isServed: () => database.isServed,
  })
  const shop = await Shop.open()
  const storm = new Storm(options, { database, fleet, shop, beganMs })
  const calledOff = new Promise<never>((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => reject(new Error(`called off by ${signal}`)))
  })
  try {
    return await Promise.race([storm.run(), calledOff])
  } finally {
    await storm.end()
  }
}

class Storm {
  readonly #options: StormOptions
  readonly #beganMs: number
  readonly #database: StormDatabase
  readonly #fleet: Fleet
  readonly #shop: Shop
  readonly #random: Random
  readonly #office: PostOffice
  #workspaces: Workspace[] = []
  #following: { stop(): Promise<void> }[] = []
  readonly #struck: Struck[] = []
  #troubles = 0
  #ended = false
  readonly #seconds = { ready: 0, storm: 0, rest: 0 }
  #left: string[] = []

  constructor(options: StormOptions, parts: { database: StormDatabase; fleet: Fleet; shop: Shop; beganMs: number }) {
    const { database, fleet, shop, beganMs } = parts
    this.#beganMs = beganMs
    this.#shop = shop
    this.#options = options
    this.#database = database
    this.#fleet = fleet
    this.#random = new Random(options.seed)
    this.#office = new PostOffice(this.#random.fork(), () => fleet.url !== undefined && database.isServed)
  }

  async run(): Promise<StormReport> {
    const { progress } = this.#options
    await this.#prepare()
    progress(`${secondsSince(this.#beganMs)} s: ready`)
    this.#seconds.ready = (performance.now() - this.#beganMs) / 1000
    await this.#rage()
    await this.#calm()
    return this.#examine()
  }

  async #prepare(): Promise<void> {
    const { workspaces } = this.#options
    this.#fleet.start('http')
    await this.#fleet.whenReady('http')
    const url = this.#fleet.url ?? ''
    this.#fleet.start('worker')
    this.#workspaces = await Promise.all(
      Array.from({ length: workspaces }, (_, number) => {
        const habit = HABITS[number % HABITS.length] as ProviderHabit
        return openWorkspace(url, { number, habit, shopUrl: this.#shop.url })
      }),
    )
    await this.#fleet.whenReady('worker')
    this.#following = this.#workspaces.map((workspace) => tellStatuses(this.#office, workspace, this.#random.fork()))
    void this.#followAddress()
  }

  /** Customers write while processes are killed; as many have begun as kills are done. */
  async #rage(): Promise<void> {
    const { conversations, kills, progress } = this.#options
    const beganMs = performance.now()
    const killings = planKillings(this.#random.fork(), kills)
    const crowd = new Crowd({
      office: this.#office,
      workspaces: this.#workspaces,
      population: new Population(this.#random.fork()),
      random: this.#random.fork(),
    })
    const playing = crowd.play(conversations, () => (this.#struck.length + 1) / (kills + 1))
    const random = this.#random.fork()
    for (const killing of killings) {
      this.#makeTrouble(random)
      const struck = await strike({ fleet: this.#fleet, database: this.#database, crowd, random }, killing)
      this.#struck.push(struck)
      progress(`${secondsSince(beganMs)} s: kill ${this.#struck.length} of ${kills}, ${describe(struck)}`)
    }
    await playing
    this.#seconds.storm = (performance.now() - beganMs) / 1000
  }

  async #calm(): Promise<void> {
    const { progress, patienceMs } = this.#options
    const beganMs = performance.now()
    await this.#fleet.whenWhole()
    await this.#office.whenEmpty()
    progress('everything is written; everybody dies once more, and then nobody')
    await this.#fleet.beginAgain(LATER_MS)
    this.#left = await comeToRest(this.#database.url, patienceMs)
    for (const following of this.#following) await following.stop()
    await this.#office.whenEmpty()
    this.#seconds.rest = (performance.now() - beganMs) / 1000
  }

  async #examine(): Promise<StormReport> {
    const { progress: _progress, patienceMs: _patience, ...options } = this.#options
    const { records, rows } = await withClient(this.#database.url, async (client) => ({
      records: await Recorded.read(client),
      rows: await checkRows(client),
    }))
    const { incidents } = this.#fleet
    const alive: Check = {
      name: 'processes end only when they are killed, and look after every promise',
      checked: this.#fleet.starts,
      violations: incidents.map(({ process, what }) => `${process}: ${what}`),
    }
    const rest: Check = { name: 'everything comes to rest', checked: 1, violations: this.#left }
    return {
      options,
      conversations: sum(this.#workspaces.map(({ customers }) => customers.length)),
      seconds: this.#seconds,
      struck: this.#struck,
      starts: this.#fleet.starts,
      refusedStarts: this.#fleet.refusedStarts,
      startTimes: this.#fleet.startTimes,
      lettersDelivered: this.#office.delivered,
      posts: this.#office.posts,
      repeats: this.#office.repeats,
      refusals: [...this.#office.refusals],
      accepted: sum(this.#workspaces.map(({ cloud }) => cloud.accepted.length)),
      troubles: this.#troubles,
      orders: { calls: sum([...this.#shop.calls.values()]), orders: this.#shop.orders.size },
      doubts: countDoubts(this.#workspaces, records),
      incidents,
      checks: [
        ...checkConversations(this.#workspaces, records),
        checkSends(this.#workspaces, records),
        checkStatuses(this.#workspaces, records),
        checkOrders(this.#workspaces, this.#shop),
        ...rows,
        rest,
        alive,
      ],
    }
  }

  async end(): Promise<void> {
    this.#ended = true
    this.#office.close()
    await Promise.all(this.#following.map((following) => following.stop()))
    await this.#fleet.stop()
    this.#shop.close()
    for (const { cloud } of this.#workspaces) await cloud.stop()
    await this.#database.stop()
  }

  /** The provider, too, has bad moments: an answer is lost, or it asks to be called again later. */
  #makeTrouble(random: Random): void {
    const { cloud } = random.pick(this.#workspaces)
    const [isLost, isRefused] = [random.chance(0.15), random.chance(0.15)]
    if (isLost) cloud.loseNext('reset')
    if (isRefused) cloud.refuseNext(131056)
    this.#troubles += Number(isLost) + Number(isRefused)
  }

  /** Whoever is started again listens elsewhere. */
  async #followAddress(): Promise<void> {
    while (!this.#ended) {
      const { url } = this.#fleet
      if (url !== undefined)
        for (const { cloud, channelId } of this.#workspaces) cloud.webhooks.callbackUrl = inboundUrl(url, channelId)
      await delay(20)
    }
  }
}

function secondsSince(beganMs: number): string {
  return ((performance.now() - beganMs) / 1000).toFixed(1)
}

function sum(counts: number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
