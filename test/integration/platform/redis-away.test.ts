import { expect } from 'chai'
import { createLogger } from '../../../src/platform/log.ts'
import { openRateLimits, type RateLimits } from '../../../src/platform/rate-limit/rate-limits.ts'
import { connectRedis } from '../../../src/platform/notifications/redis.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { TestClock } from '../../support/clock.ts'
import { openPostgresStore, openRedisStore } from '../../support/limit-stores.ts'
import { waitUntil } from '../../support/wait-until.ts'

type Store = NonNullable<Awaited<ReturnType<typeof openRedisStore>>>

const ADDRESS = '192.0.2.1'
/** More than Postgres takes on a busy machine. */
const REDIS_MS = SECOND

async function countAttempts(limits: RateLimits, email: string, times: number): Promise<number> {
  const reservations = await Promise.all(
    Array.from({ length: times }, () =>
      limits.signInLockout.reserve({ email, addressKey: ADDRESS, isKnownAddress: true }),
    ),
  )
  const attempts = reservations.flatMap((one) => (one.locked ? [] : [one.attempt]))
  await Promise.all(attempts.map((attempt) => attempt.fail()))
  return attempts.length
}

async function countAllowed(limits: RateLimits, address: string, times: number): Promise<number> {
  const all = await Promise.all(Array.from({ length: times }, () => limits.charge(address, ['signIn'])))
  return all.filter(({ allowed }) => allowed).length
}

describe('rate limits during a Redis outage', () => {
  let store: Store
  let limits: RateLimits
  const clock = new TestClock()

  beforeEach(async function open() {
    const limitStore = await openRedisStore({ redisMs: REDIS_MS })
    if (!limitStore) return this.skip()
    store = limitStore
    limits = await store.open(clock)
  })
  afterEach(() => store?.close())

  it('continue in Postgres when Redis is killed and use the counts of Redis after its restart', async () => {
    expect(await countAllowed(limits, 'before', 8)).to.equal(5)
    expect(await countAttempts(limits, 'before@away.example', 8)).to.equal(5)
    await store.redis.kill()
    expect(await countAllowed(limits, 'meanwhile', 40)).to.equal(5)
    expect(await countAttempts(limits, 'meanwhile@away.example', 50)).to.equal(5)
    await store.redis.restart()
    clock.advance(6 * SECOND)
    const restarted = await store.open(clock)
    expect(await countAllowed(restarted, 'before', 8)).to.equal(0)
    expect(await countAttempts(restarted, 'before@away.example', 8)).to.equal(0)
  })

  it('return to Redis automatically after its restart', async () => {
    await store.redis.kill()
    expect(await countAllowed(limits, ADDRESS, 40)).to.equal(5)
    await store.redis.restart()
    const other = await store.open(clock)
    let round = 0
    await waitUntil(async () => {
      clock.advance(6 * SECOND)
      const address = `round ${(round += 1)}`
      await limits.charge(address, ['auth'])
      return (await other.charge(address, ['auth'])).state.remaining === 8
    })
  })

  it('wait for a hanging Redis three times at most and then use Postgres directly', async () => {
    await limits.charge(ADDRESS, ['auth'])
    store.redis.pause()
    const durations: number[] = []
    for (let call = 0; call < 6; call += 1) {
      const started = performance.now()
      expect((await limits.charge('hung', ['auth'])).state.remaining).to.equal(9 - call)
      durations.push(performance.now() - started)
    }
    for (const duration of durations.slice(0, 3)) expect(duration).to.be.at.least(REDIS_MS - 10)
    for (const duration of durations.slice(3)) expect(duration).to.be.below(REDIS_MS)
    expect(await countAllowed(limits, 'hung', 40)).to.equal(5)
    store.redis.resume()
  })
})

describe('the general rate limit during an outage', () => {
  it('admits requests at once while Redis hangs, and continues in Postgres', async function outage() {
    const store = await openRedisStore({ redisMs: REDIS_MS })
    if (!store) return this.skip()
    try {
      const clock = new TestClock()
      const limits = await store.open(clock)
      store.redis.pause()
      const started = performance.now()
      expect((await limits.charge(ADDRESS, ['api'])).state.remaining).to.equal(99)
      expect(performance.now() - started).to.be.below(REDIS_MS)
      const allowed = await Promise.all(Array.from({ length: 120 }, () => limits.charge(ADDRESS, ['api'])))
      expect(allowed.filter((charge) => charge.allowed)).to.have.length(99)
      store.redis.resume()
    } finally {
      await store.close()
    }
  })
})

describe('rate limits with an unreachable Redis', () => {
  it('wait for it for a part of a second by default', async function hangs() {
    const store = await openRedisStore()
    if (!store) return this.skip()
    const redis = await connectRedis(store.redis.url, createLogger('silent'))
    const limits = await openRateLimits({ url: store.url, redis, clock: new TestClock() })
    try {
      await waitUntil(() => redis.isReady)
      store.redis.pause()
      const started = performance.now()
      expect((await limits.charge(ADDRESS, ['auth'])).allowed).to.equal(true)
      // Three seconds more are for Postgres on a busy machine.
      expect(performance.now() - started).to.be.within(240, 3250)
    } finally {
      store.redis.resume()
      redis.destroy()
      await limits.close()
      await store.close()
    }
  })

  it('use Postgres from the start', async () => {
    const postgres = await openPostgresStore()
    const redis = await connectRedis('redis://127.0.0.1:1', createLogger('silent'))
    const limits = await openRateLimits({ url: postgres.url, redis, clock: new TestClock() })
    expect(await countAllowed(limits, ADDRESS, 40)).to.equal(5)
    redis.destroy()
    await limits.close()
    await postgres.close()
  })
})
