import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { RedisClientType } from 'redis'
import type { Database } from '../database/database.ts'
import type { Breaker } from './breaker.ts'
import { firstAnswer } from './first-answer.ts'

export type Stores = {
  db: Database
  databaseBreaker: Breaker
  redis: RedisClientType | undefined
  breaker: Breaker
}

export type Rule = {
  /** The name of the counter; every rule has its own. */
  name: string
  points: number
  seconds: number
}

export type Consumption = { allowed: boolean; remaining: number; msBeforeNext: number }

export type Consume = (key: string, points: number) => Promise<Consumption>

/**
 * One counter in the first store that answers: Redis if configured, else Postgres, else the memory of this process. An
 * unreachable store neither lifts the limit nor blocks every request.
 */
export class LimiterChain {
  readonly #stores: Consume[]

  constructor({ name, points, seconds }: Rule, { db, databaseBreaker, redis, breaker }: Stores) {
    const inMemory = consumer(new RateLimiterMemory({ keyPrefix: name, points, duration: seconds }))
    const inPostgres = consumer(
      new RateLimiterPostgres({
        ...toStoredOptions({ name, points, seconds }),
        storeClient: db,
        storeType: 'knex',
        tableName: 'rate_limits',
        tableCreated: true,
        clearExpiredByTimeout: false,
      }),
    )
    this.#stores = [(key, cost) => databaseBreaker.run(() => inPostgres(key, cost)), inMemory]
    if (redis) {
      const inRedis = createRedisConsumer({ name, points, seconds }, redis)
      this.#stores.unshift((key, cost) => breaker.run(() => inRedis(key, cost)))
    }
  }

  consume(key: string, points: number): Promise<Consumption> {
    return firstAnswer(this.#stores, (consume) => consume(key, points))
  }
}

/** Rejections are cached in this process, so that a flood of rejected requests does not reach the store. */
function toStoredOptions({ name, points, seconds }: Rule) {
  return { keyPrefix: name, points, duration: seconds, inMemoryBlockOnConsumed: points + 1 }
}

export function createRedisConsumer(rule: Rule, redis: RedisClientType): Consume {
  const options = { storeClient: redis, useRedisPackage: true, rejectIfRedisNotReady: true }
  return consumer(new RateLimiterRedis({ ...toStoredOptions(rule), ...options }))
}

/** Converts the rejections that the library throws to results. */
function consumer(limiter: RateLimiterRedis | RateLimiterPostgres | RateLimiterMemory): Consume {
  return async (key, points) => {
    try {
      const { remainingPoints, msBeforeNext } = await limiter.consume(key, points)
      return { allowed: true, remaining: remainingPoints, msBeforeNext }
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection
      return { allowed: false, remaining: 0, msBeforeNext: rejection.msBeforeNext }
    }
  }
}
