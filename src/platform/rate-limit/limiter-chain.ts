import {
  type IRateLimiterStoreNoAutoExpiryOptions,
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRedis,
  RateLimiterRes,
} from 'rate-limiter-flexible'
import type { RedisClientType } from 'redis'
import type { Database } from '../database/database.ts'
import type { Breaker } from './breaker.ts'
import { firstAnswer } from './first-answer.ts'

export type Stores = { db: Database; redis: RedisClientType | undefined; breaker: Breaker }

export type Rule = {
  /** Names the counter; two rules never share one. */
  name: string
  points: number
  seconds: number
}

export type Consumption = { allowed: boolean; remaining: number; msBeforeNext: number }

type Consume = (key: string, points: number) => Promise<Consumption>

/**
 * One counter kept in the best store that answers: Redis where a fleet has one, else Postgres, else this process. A
 * store that is away never lets everybody in, and never shuts everybody out.
 */
export class LimiterChain {
  readonly #stores: Consume[]

  constructor({ name, points, seconds }: Rule, { db, redis, breaker }: Stores) {
    const base = { keyPrefix: name, points, duration: seconds }
    // A refusal is remembered in this process, so that a flood of refused requests costs no store anything.
    const stored = { ...base, inMemoryBlockOnConsumed: points + 1 }
    const inMemory = consumeOf(new RateLimiterMemory(base))
    const inPostgres = consumeOf(
      new RateLimiterPostgres({
        ...stored,
        storeClient: db,
        storeType: 'knex',
        tableName: 'rate_limits',
        tableCreated: true,
        clearExpiredByTimeout: false,
      } as IRateLimiterStoreNoAutoExpiryOptions),
    )
    this.#stores = [inPostgres, inMemory]
    if (redis) {
      const options = { ...stored, storeClient: redis, useRedisPackage: true, rejectIfRedisNotReady: true }
      const inRedis = consumeOf(new RateLimiterRedis(options))
      this.#stores.unshift((key, cost) => breaker.run(() => inRedis(key, cost)))
    }
  }

  consume(key: string, points: number): Promise<Consumption> {
    return firstAnswer(this.#stores, (consume) => consume(key, points))
  }
}

/** The library throws its refusals; here they are answers. */
function consumeOf(limiter: RateLimiterRedis | RateLimiterPostgres | RateLimiterMemory): Consume {
  return async (key, points) => {
    try {
      const { remainingPoints, msBeforeNext } = await limiter.consume(key, points)
      return { allowed: true, remaining: remainingPoints, msBeforeNext }
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      return { allowed: false, remaining: 0, msBeforeNext: refusal.msBeforeNext }
    }
  }
}
