import type pg from 'pg'
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { RedisClientType } from 'redis'
import { withinTime } from '../concurrency/deadline.ts'
import type { Database } from '../database/database.ts'
import { type Clock, SECOND } from '../time.ts'

/** The stores that processes share. Every call goes through the breaker of its store. */
export type Stores = {
  postgres: { db: Database; breaker: Breaker }
  redis: { client: RedisClientType; breaker: Breaker } | undefined
}

export type Rule = {
  /** The name of the counters; every rule has its own. */
  name: string
  points: number
  seconds: number
}

export type Consumption = { allowed: boolean; remaining: number; msBeforeNext: number }

export type Limiter = { consume(key: string, points: number, limit?: number): Promise<Consumption> }

const FAILURES_MAX = 3
const OPEN_MS = 5 * SECOND

/**
 * Creates a limit that is counted in the first store that answers: Redis if configured, else Postgres, else the memory
 * of this process. An unreachable store neither lifts the limit nor blocks every request.
 */
export function createLimiter(rule: Rule, { postgres, redis }: Stores): Limiter {
  const inPostgres = new RateLimiterPostgres({
    ...toStoredOptions(rule),
    storeClient: guardPostgres(postgres),
    storeType: 'pool',
    tableName: 'rate_limits',
    tableCreated: true,
    clearExpiredByTimeout: false,
    insuranceLimiter: new RateLimiterMemory(toOptions(rule)),
  })
  const limiter = redis ? createRedisLimiter(rule, redis, inPostgres) : inPostgres
  return {
    async consume(key, points) {
      try {
        const { remainingPoints, msBeforeNext } = await limiter.consume(key, points)
        return { allowed: true, remaining: remainingPoints, msBeforeNext }
      } catch (rejection) {
        if (!(rejection instanceof RateLimiterRes)) throw rejection
        return { allowed: false, remaining: 0, msBeforeNext: rejection.msBeforeNext }
      }
    },
  }
}

export function createRedisLimiter(
  rule: Rule,
  redis: NonNullable<Stores['redis']>,
  insuranceLimiter?: RateLimiterPostgres,
): RateLimiterRedis {
  return new RateLimiterRedis({
    ...toStoredOptions(rule),
    storeClient: guardRedis(redis),
    useRedisPackage: true,
    rejectIfRedisNotReady: true,
    ...(insuranceLimiter ? { insuranceLimiter } : {}),
  })
}

/**
 * A circuit breaker that keeps an unresponsive store from slowing every request: each call waits for a bounded time, and
 * after three failures in a row the store is not called for five seconds.
 */
export class Breaker {
  readonly #clock: Clock
  readonly #timeoutMs: number
  #failures = 0
  #openUntil = 0

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  async run<T>(operation: () => Promise<T>): Promise<T> {
    if (this.#clock.now().getTime() < this.#openUntil) throw new Error('the circuit breaker of the store is open')
    try {
      const result = await withinTime(this.#timeoutMs, operation())
      this.#failures = 0
      return result
    } catch (error) {
      this.#fail()
      throw error
    }
  }

  #fail(): void {
    this.#failures += 1
    if (this.#failures < FAILURES_MAX) return
    this.#failures = 0
    this.#openUntil = this.#clock.now().getTime() + OPEN_MS
  }
}

function toOptions({ name, points, seconds }: Rule) {
  return { keyPrefix: name, points, duration: seconds }
}

/** Rejections are cached in this process, so that a flood of rejected requests does not reach the store. */
function toStoredOptions(rule: Rule) {
  return { ...toOptions(rule), inMemoryBlockOnConsumed: rule.points + 1 }
}

/** The part of a pool that the library uses. */
function guardPostgres({ db, breaker }: Stores['postgres']) {
  return {
    query: (statement: pg.QueryConfig) =>
      breaker.run(async () => {
        const connection: pg.Client = await db.client.acquireConnection()
        try {
          return await connection.query(statement)
        } finally {
          await db.client.releaseConnection(connection)
        }
      }),
  }
}

/** The part of a client that the library uses. */
function guardRedis({ client, breaker }: NonNullable<Stores['redis']>) {
  return {
    get isReady() {
      return client.isReady
    },
    eval: (script: string, options: { keys: string[]; arguments: string[] }) =>
      breaker.run(() => client.eval(script, options)),
    multi: () => client.multi(),
  }
}
