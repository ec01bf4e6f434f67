import { expect } from 'chai'
import { createLogger } from '../../../src/platform/log.ts'
import { createRateLimits, type RateLimits } from '../../../src/platform/rate-limit/rate-limits.ts'
import { connectRedis } from '../../../src/platform/notifications/redis.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { TestClock } from '../../support/clock.ts'
import { postgresStore, redisStore } from '../../support/limit-stores.ts'
import { waitUntil } from '../../support/wait-until.ts'

type Store = NonNullable<Awaited<ReturnType<typeof redisStore>>>

const ADDRESS = '192.0.2.1'

async function tries(limits: RateLimits, email: string, times: number): Promise<number> {
  const reservations = await Promise.all(
    Array.from({ length: times }, () => limits.signInLockout.reserve(email, ADDRESS)),
  )
  const attempts = reservations.flatMap((one) => (one.locked ? [] : [one.attempt]))
  await Promise.all(attempts.map((attempt) => attempt.fail()))
  return attempts.length
}

async function charges(limits: RateLimits, address: string, times: number): Promise<number> {
  const all = await Promise.all(Array.from({ length: times }, () => limits.charge(address, ['signIn'])))
  return all.filter(({ allowed }) => allowed).length
}

describe('limits while Redis is away', () => {
  let store: Store
  let limits: RateLimits
  const clock = new TestClock()

  beforeEach(async function open() {
    const opened = await redisStore()
    if (!opened) return this.skip()
    store = opened
    limits = await store.open(clock)
  })
  afterEach(() => store?.close())

  it('go on in Postgres when it is killed, and what Redis knew counts again when it is back', async () => {
    expect(await charges(limits, 'before', 8)).to.equal(5)
    expect(await tries(limits, 'before@away.example', 8)).to.equal(5)
    await store.redis.kill()
    expect(await charges(limits, 'meanwhile', 40)).to.equal(5)
    expect(await tries(limits, 'meanwhile@away.example', 50)).to.equal(5)
    await store.redis.restart()
    clock.advance(6 * SECOND)
    const restarted = await store.open(clock)
    expect(await charges(restarted, 'before', 8)).to.equal(0)
    expect(await tries(restarted, 'before@away.example', 8)).to.equal(0)
  })

  it('return to Redis by themselves', async () => {
    await store.redis.kill()
    expect(await charges(limits, ADDRESS, 40)).to.equal(5)
    await store.redis.restart()
    const other = await store.open(clock)
    let round = 0
    await waitUntil(async () => {
      clock.advance(6 * SECOND)
      const address = `round ${(round += 1)}`
      await limits.charge(address, ['api'])
      return (await other.charge(address, ['api'])).state.remaining === 98
    })
  })

  it('are answered within a moment when it hangs, and at once after three such answers', async () => {
    await limits.charge(ADDRESS, ['api'])
    store.redis.pause()
    const waits: number[] = []
    for (let call = 0; call < 6; call += 1) {
      const started = performance.now()
      expect((await limits.charge('hung', ['api'])).state.remaining).to.equal(99 - call)
      waits.push(performance.now() - started)
    }
    for (const wait of waits.slice(0, 3)) expect(wait).to.be.within(240, 2000)
    for (const wait of waits.slice(3)) expect(wait).to.be.below(240)
    expect(await charges(limits, 'hung', 40)).to.equal(5)
    store.redis.resume()
  })
})

describe('limits with a Redis that was never there', () => {
  it('are kept in Postgres from the start', async () => {
    const postgres = await postgresStore()
    const redis = connectRedis('redis://127.0.0.1:1', createLogger('silent'))
    const alone = createRateLimits({ url: postgres.url, redis, clock: new TestClock() })
    expect(await charges(alone, ADDRESS, 40)).to.equal(5)
    redis.destroy()
    await alone.close()
    await postgres.close()
  })
})
