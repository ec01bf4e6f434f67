import { expect } from 'chai'
import { openRateLimits, type RateLimits, type Tier, TIERS } from '../../../src/platform/rate-limit/rate-limits.ts'
import { HOUR, MINUTE, SECOND } from '../../../src/platform/time.ts'
import { TestClock } from '../../support/clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type LimitStore, openMemoryStore, openPostgresStore, openRedisStore } from '../../support/limit-stores.ts'

const STORES: Record<string, () => Promise<LimitStore | undefined>> = {
  Redis: openRedisStore,
  Postgres: openPostgresStore,
  memory: openMemoryStore,
}

const MB = 1024 ** 2

let nextAddress = 0
const newAddress = () => `192.0.2.${(nextAddress += 1)}`

/** Charges the tier concurrently and returns the number of allowed charges. */
async function countAllowed(times: number, limits: RateLimits[], address: string, tier: Tier): Promise<number> {
  const charges = await Promise.all(
    Array.from({ length: times }, (_, index) => (limits[index % limits.length] as RateLimits).charge(address, [tier])),
  )
  return charges.filter(({ allowed }) => allowed).length
}

describe('rate limit tiers', () => {
  it('have the documented points and windows', () => {
    expect(TIERS).to.deep.equal({
      forgot: { points: 3, seconds: 3600 },
      reset: { points: 3, seconds: 3600 },
      signIn: { points: 5, seconds: 60 },
      signUp: { points: 3, seconds: 300 },
      auth: { points: 10, seconds: 60 },
      api: { points: 100, seconds: 60 },
      webhookRejected: { points: 60, seconds: 60 },
      workflowWebhook: { points: 600, seconds: 60 },
    })
  })
})

for (const [name, openStore] of Object.entries(STORES)) {
  describe(`rate limit in ${name}`, () => {
    const clock = new TestClock()
    let store: LimitStore
    let limits: RateLimits

    before(async function open() {
      const limitStore = await openStore()
      if (!limitStore) return this.skip()
      store = limitStore
      limits = await store.open(clock)
    })
    after(() => store?.close())

    for (const tier of Object.keys(TIERS) as Tier[]) {
      it(`allows exactly ${TIERS[tier].points} of many concurrent requests on tier ${tier}`, async () => {
        expect(await countAllowed(TIERS[tier].points + 37, [limits], newAddress(), tier)).to.equal(TIERS[tier].points)
      })
    }

    it('returns the remaining points and the end of the window', async () => {
      const address = newAddress()
      const states = []
      for (let call = 0; call < 4; call += 1) states.push(await limits.charge(address, ['forgot']))
      expect(states.map(({ allowed, state }) => [allowed, state.limit, state.remaining])).to.deep.equal([
        [true, 3, 2],
        [true, 3, 1],
        [true, 3, 0],
        [false, 3, 0],
      ])
      for (const { state } of states) expect(state.resetSeconds).to.be.within(3590, 3600)
    })

    it('counts sign-ups of all /64 networks of an IPv6 /56 and /48 together', async () => {
      const prefix = `2001:db8:${(nextAddress += 1)}`
      const signUp = async (subnet: number) => {
        const { allowed } = await limits.charge(`${prefix}:${subnet.toString(16)}::/64`, ['signUp'])
        return allowed ? 1 : 0
      }
      let fromOne = 0
      for (let subnet = 0; subnet < 30; subnet += 1) fromOne += await signUp(subnet)
      expect(fromOne).to.equal(20)
      let fromOthers = 0
      for (let subnet = 1; subnet <= 60; subnet += 1) fromOthers += await signUp(subnet * 256)
      // Those that the /56 refused have not been charged to the /48.
      expect(fromOthers).to.equal(40)
    })

    it('counts each address and each tier separately', async () => {
      const address = newAddress()
      await limits.charge(address, ['signUp'], 3)
      expect((await limits.charge(address, ['signUp'])).allowed).to.equal(false)
      expect((await limits.charge(address, ['forgot'])).state.remaining).to.equal(2)
      expect((await limits.charge(newAddress(), ['signUp'])).state.remaining).to.equal(2)
    })

    it('returns the state of the tier with the fewest remaining points', async () => {
      const address = newAddress()
      const { state } = await limits.charge(address, ['signIn', 'api'])
      expect([state.limit, state.remaining]).to.deep.equal([5, 4])
      await limits.charge(address, ['api'], 97)
      const later = await limits.charge(address, ['signIn', 'api'])
      expect([later.state.limit, later.state.remaining]).to.deep.equal([100, 1])
    })

    it('does not charge the tiers after one that rejects the request', async () => {
      const address = newAddress()
      await limits.charge(address, ['reset'], 3)
      const charge = await limits.charge(address, ['reset', 'api'])
      expect([charge.allowed, charge.state.limit]).to.deep.equal([false, 3])
      expect((await limits.charge(address, ['api'])).state.remaining).to.equal(99)
    })

    it('charges several points at once or none of them', async () => {
      const address = newAddress()
      expect((await limits.charge(address, ['signIn'], 5)).state.remaining).to.equal(0)
      expect((await limits.charge(newAddress(), ['signIn'], 6)).allowed).to.equal(false)
    })

    it('of webhook calls allows 512 MB of one channel a minute, and counts each call as 1 KB at least', async () => {
      const [large, small] = [newAddress(), newAddress()]
      const charges = await Promise.all(Array.from({ length: 200 }, () => limits.chargeWebhook(large, 3 * MB)))
      expect(charges.filter(({ allowed }) => allowed)).to.have.length(170)
      expect(charges.at(-1)?.state).to.include({ limit: 512 * 1024, remaining: 0 })
      expect(charges.at(-1)?.state.resetSeconds).to.be.within(1, 60)
      await limits.chargeWebhook(small, 500 * MB)
      expect((await limits.chargeWebhook(small, 1)).state.remaining).to.equal(12 * 1024 - 1)
      expect((await limits.chargeWebhook(newAddress(), 3 * MB)).allowed).to.equal(true)
    })

    if (name === 'memory') return

    it('of webhook calls is exceeded by at most 8 MB per further process', async () => {
      const channel = newAddress()
      const processes = [limits, await store.open(clock), await store.open(clock)]
      const charges = await Promise.all(
        Array.from({ length: 600 }, (_, index) => processes[index % 3]?.chargeWebhook(channel, 2 * MB)),
      )
      const megabytes = charges.filter((charge) => charge?.allowed).length * 2
      expect(megabytes).to.be.within(512, 512 + 3 * 8)
    })

    it('is shared by all processes', async () => {
      expect(await countAllowed(40, [limits, await store.open(clock)], newAddress(), 'auth')).to.equal(10)
    })

    it('of callers is that of each of them, and the state is that of the one with the fewest remaining points', async () => {
      const [one, two, shared] = [newAddress(), newAddress(), newAddress()]
      const charge = (key: string, limit: number) =>
        limits.chargeCallers([
          { key, limit },
          { key: shared, limit: 5 },
        ])
      expect((await charge(one, 2)).state).to.include({ limit: 2, remaining: 1 })
      expect((await charge(one, 2)).state).to.include({ limit: 2, remaining: 0 })
      expect(await charge(one, 2)).to.deep.include({ allowed: false })
      for (let count = 0; count < 3; count += 1) expect((await charge(two, 100)).allowed).to.equal(true)
      const { allowed, state } = await charge(two, 100)
      expect({ allowed, limit: state.limit }).to.deep.equal({ allowed: false, limit: 5 })
    })

    it('of the general tier is exceeded by at most 10 requests per further process', async () => {
      const address = newAddress()
      const processes = [limits, await store.open(clock), await store.open(clock)]
      expect(await countAllowed(400, processes, address, 'api')).to.be.within(100, 120)
      await waitUntil(async () => {
        const charges = await Promise.all(processes.map((one) => one.charge(address, ['api'])))
        return charges.every(({ allowed }) => !allowed)
      })
    })

    it('of the general tier is stored by a process that ends', async () => {
      const address = newAddress()
      const ending = await store.open(clock)
      await ending.charge(address, ['api'], 8)
      await ending.close()
      const later = await store.open(clock)
      expect((await later.charge(address, ['api'], 93)).allowed).to.equal(false)
      expect((await later.charge(address, ['api'], 92)).allowed).to.equal(true)
    })

    it('of the general tier counts in the first answer of a process what was stored before it started', async () => {
      const address = newAddress()
      const ending = await store.open(clock)
      await ending.charge(address, ['api'], 8)
      await ending.close()
      const later = await store.open(clock)
      expect((await later.charge(address, ['api'])).state.remaining).to.equal(91)
    })

    it('of the general tier resets at the end of its window', async () => {
      const address = newAddress()
      expect((await limits.charge(address, ['api'], 100)).state.remaining).to.equal(0)
      await store.advance(MINUTE + SECOND)
      const other = await store.open(clock)
      expect((await other.charge(address, ['api'], 20)).state.remaining).to.equal(80)
    })

    it('applies to a process that starts later', async () => {
      const address = newAddress()
      await limits.charge(address, ['forgot'], 2)
      expect((await (await store.open(clock)).charge(address, ['forgot'])).state.remaining).to.equal(0)
      expect((await (await store.open(clock)).charge(address, ['forgot'])).allowed).to.equal(false)
    })

    it('resets at the end of its window, which rejected requests do not extend', async () => {
      const address = newAddress()
      await limits.charge(address, ['forgot'], 3)
      await store.advance(59 * MINUTE)
      const charge = await (await store.open(clock)).charge(address, ['forgot'])
      expect(charge.allowed).to.equal(false)
      expect(charge.state.resetSeconds).to.be.within(50, 60)
      await store.advance(MINUTE + SECOND)
      expect((await (await store.open(clock)).charge(address, ['forgot'])).state.remaining).to.equal(2)
    })
  })
}

describe('purge of rate limits in Postgres', () => {
  it('deletes only the counters whose window has ended', async () => {
    const store = await openPostgresStore()
    try {
      const limits = await store.open(new TestClock())
      await limits.charge('192.0.2.1', ['auth'])
      await store.advance(HOUR + 2 * MINUTE)
      await limits.charge('192.0.2.2', ['auth'])
      await limits.purge()
      expect(await store.db('rate_limits').pluck('key')).to.deep.equal(['auth:192.0.2.2'])
    } finally {
      await store.close()
    }
  })
})

describe('bytes of webhook calls that a workspace keeps', () => {
  it('are an eighth of its quota within a day, so that eight days are within the quota', async () => {
    const store = await openPostgresStore()
    const limits = await openRateLimits({
      url: store.url,
      redis: undefined,
      clock: new TestClock(),
      webhookBytes: 8 * MB,
    })
    try {
      const kept = []
      for (let call = 0; call < 6; call += 1) kept.push(await limits.mayKeepWebhook('one', 200 * 1024))
      expect(kept).to.deep.equal([true, true, true, true, true, false])
      expect(await limits.mayKeepWebhook('one', 20 * 1024)).to.equal(true)
      expect(await limits.mayKeepWebhook('other', MB)).to.equal(true)
      await limits.close()
      const [row] = await store.db('rate_limits').where('key', 'keptWebhookBytes:one')
      expect(row.points).to.equal(1020)
      expect(row.expire - Date.now()).to.be.within(23 * HOUR, 24 * HOUR)
    } finally {
      await store.close()
    }
  })
})
