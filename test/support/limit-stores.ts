import { openDatabase, type Database } from '../../src/platform/database/database.ts'
import { migrate } from '../../src/platform/database/migrate.ts'
import { createLogger } from '../../src/platform/log.ts'
import { openRateLimits, type RateLimits, type StoreTimeouts } from '../../src/platform/rate-limit/rate-limits.ts'
import { connectRedis } from '../../src/platform/notifications/redis.ts'
import { type Clock, SECOND } from '../../src/platform/time.ts'
import { cloneDatabase } from './postgres.ts'
import { startRedis, type TestRedis } from './redis.ts'
import { waitUntil } from './wait-until.ts'

/** A store of rate-limit counters. Each call of `open` behaves as another process that shares the store. */
export type LimitStore = {
  open(clock: Clock): Promise<RateLimits>
  /** Lets `ms` pass for the counters, which expire by the system clock. */
  advance(ms: number): Promise<void>
  redis?: TestRedis
  close(): Promise<void>
}

const LOG = createLogger('silent')

/** For stores that answer, however late on a busy machine. */
const PATIENT: StoreTimeouts = { redisMs: 30 * SECOND, databaseMs: 30 * SECOND }

async function prepareTemplate(url: string): Promise<void> {
  await migrate(url)
}

export async function openPostgresStore(): Promise<LimitStore & { db: Database; url: string }> {
  const { url, drop } = await cloneDatabase(prepareTemplate)
  const db = openDatabase(url)
  const opened: RateLimits[] = []
  return {
    db,
    url,
    async open(clock) {
      const limits = await openRateLimits({ url, redis: undefined, clock, timeouts: PATIENT })
      opened.push(limits)
      return limits
    },
    async advance(ms) {
      await db('rate_limits').update({ expire: db.raw('expire - ?', [ms]) })
    },
    async close() {
      await Promise.all(opened.map((limits) => limits.close()))
      await db.destroy()
      await drop()
    },
  }
}

/** Returns undefined where Redis is not installed. */
export async function openRedisStore({ redisMs = PATIENT.redisMs } = {}): Promise<
  (LimitStore & { redis: TestRedis; url: string }) | undefined
> {
  const redis = await startRedis()
  if (!redis) return undefined
  const postgres = await openPostgresStore()
  const clients: Awaited<ReturnType<typeof connectRedis>>[] = []
  const connect = async () => {
    const client = await connectRedis(redis.url, LOG)
    clients.push(client)
    return client
  }
  const opened: RateLimits[] = []
  return {
    redis,
    url: postgres.url,
    async open(clock) {
      const client = await connect()
      const limits = await openRateLimits({
        url: postgres.url,
        redis: client,
        clock,
        timeouts: { ...PATIENT, redisMs },
      })
      opened.push(limits)
      await waitUntil(() => client.isReady)
      return limits
    },
    async advance(ms) {
      const client = await connect()
      await waitUntil(() => client.isReady)
      for (const key of await client.keys('*')) await client.pExpire(key, (await client.pTTL(key)) - ms)
    },
    async close() {
      clients.forEach((client) => client.destroy())
      await Promise.all(opened.map((limits) => limits.close()))
      await postgres.close()
      await redis.stop()
    },
  }
}

/** The fallback in memory, used because the database has no table for counters. */
export async function openMemoryStore(): Promise<LimitStore> {
  const { url, drop } = await cloneDatabase(async () => undefined)
  const opened: RateLimits[] = []
  return {
    async open(clock) {
      const limits = await openRateLimits({ url, redis: undefined, clock })
      opened.push(limits)
      return limits
    },
    advance: () => Promise.reject(new Error('Counters in memory expire by the system clock only')),
    async close() {
      await Promise.all(opened.map((limits) => limits.close()))
      await drop()
    },
  }
}
