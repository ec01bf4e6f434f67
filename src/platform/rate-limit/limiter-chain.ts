import {
  type IRateLimiterStoreNoAutoExpiryOptions,
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRedis,
  RateLimiterRes,
} from 'rate-limiter-flexible'
import type { RedisClientType } from 'redis'
import type { Database } from '../database.ts'
import type { Breaker } from './breaker.ts'

export type Stores = { db: Database; redis: RedisClientType | undefined; breaker: Breaker }

type Limiter = RateLimiterRedis | RateLimiterPostgres | RateLimiterMemory
type Operation<T> = (limiter: Limiter) => Promise<T>

export type Rule = {
  /** Names the counter; two rules never share one. */
  name: string
  points: number
  seconds: number
  /** Remembers a refusal in this process, so that a flood of refused requests costs no store anything. */
  remembersRefusals: boolean
}

/**
 * One counter kept in the best store that answers: Redis where a fleet has one, else Postgres, else this process. A
 * store that is away never lets everybody in, and never shuts everybody out.
 */
export class LimiterChain {
  readonly #redis: RateLimiterRedis | undefined
  readonly #postgres: RateLimiterPostgres
  readonly #memory: RateLimiterMemory
  readonly #breaker: Breaker

  constructor({ name, points, seconds, remembersRefusals }: Rule, { db, redis, breaker }: Stores) {
    const base = { keyPrefix: name, points, duration: seconds }
    const blocks = remembersRefusals ? { inMemoryBlockOnConsumed: points + 1 } : {}
    this.#breaker = breaker
    this.#memory = new RateLimiterMemory(base)
    this.#postgres = new RateLimiterPostgres({
      ...base,
      ...blocks,
      storeClient: db,
      storeType: 'knex',
      tableName: 'rate_limits',
      tableCreated: true,
      clearExpiredByTimeout: false,
    } as IRateLimiterStoreNoAutoExpiryOptions)
    if (redis) {
      this.#redis = new RateLimiterRedis({
        ...base,
        ...blocks,
        storeClient: redis,
        useRedisPackage: true,
        rejectIfRedisNotReady: true,
      })
    }
  }

  /** @throws RateLimiterRes when the points are used up */
  consume(key: string, points = 1): Promise<RateLimiterRes> {
    return this.#run((limiter) => limiter.consume(key, points))
  }

  block(key: string, seconds: number): Promise<RateLimiterRes> {
    return this.#run((limiter) => limiter.block(key, seconds))
  }

  reward(key: string): Promise<RateLimiterRes> {
    return this.#run((limiter) => limiter.reward(key, 1))
  }

  /** Forgets the key in every store: one that was away may still hold it. */
  async forget(key: string): Promise<void> {
    await this.#memory.delete(key)
    await Promise.allSettled([
      this.#postgres.delete(key),
      this.#redis && this.#breaker.run(() => this.#redis!.delete(key)),
    ])
  }

  async #run<T>(operation: Operation<T>): Promise<T> {
    const redis = this.#redis
    const attempts = [
      ...(redis ? [() => this.#breaker.run(() => operation(redis))] : []),
      () => operation(this.#postgres),
      () => operation(this.#memory),
    ]
    let failure: unknown
    for (const attempt of attempts) {
      try {
        return await attempt()
      } catch (error) {
        // A refusal is an answer; only a store that fails hands over to the next.
        if (error instanceof RateLimiterRes) throw error
        failure = error
      }
    }
    throw failure
  }
}
