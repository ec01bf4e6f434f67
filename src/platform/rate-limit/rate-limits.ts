import type { RedisClientType } from 'redis'
import { widerNetwork } from '../client-address.ts'
import { closeDatabase, type Database, openDatabase } from '../database/database.ts'
import { type Clock, SECOND } from '../time.ts'
import { BUDGET_PREFIX } from './attempt-budget.ts'
import { Breaker } from './breaker.ts'
import { BufferedLimiter } from './buffered-limiter.ts'
import { createAddAll } from './buffered-stores.ts'
import { type Consumption, LimiterChain } from './limiter-chain.ts'
import { Lockout } from './lockout.ts'
import { NETWORK_TIERS, type Tier, TIERS } from './tiers.ts'

type Limiter = { consume(key: string, points: number): Promise<Consumption> }

/** The counter of an address, or of its network, in a tier. */
type Counter = { limiter: Limiter; key: string; limit: number }

/** The tier of every request, which is counted in memory. The others limit guesses and are counted exactly. */
const GENERAL_TIER = 'api'

/** The state of a tier. `resetSeconds` is at least 1. */
export type LimitState = { limit: number; remaining: number; resetSeconds: number }

/** `state` is that of the tier with the least remaining, or of the tier that rejected the request. */
export type Charge = { allowed: boolean; state: LimitState }

export interface RateLimits {
  /** Charges the tiers in order; the first rejection ends it. */
  charge(addressKey: string, tiers: Tier[], points?: number): Promise<Charge>
  signInLockout: Lockout
  /** Deletes counters whose window is over. */
  purge(): Promise<void>
  close(): Promise<void>
}

const REDIS_TIMEOUT_MS = 250
const DATABASE_TIMEOUT_MS = 3 * SECOND
const POOL = { connections: 4, statementTimeoutMs: DATABASE_TIMEOUT_MS, acquireTimeoutMs: DATABASE_TIMEOUT_MS }

export function createRateLimits(options: {
  url: string
  isPooled?: boolean
  redis: RedisClientType | undefined
  clock: Clock
}): RateLimits {
  // A separate pool, so that a flood of requests cannot take the connections of admitted ones.
  const { url, isPooled = false, redis, clock } = options
  const db = openDatabase(url, { ...POOL, isPooled, name: 'parley limits' })
  const stores = {
    db,
    databaseBreaker: new Breaker(clock, DATABASE_TIMEOUT_MS),
    redis,
    breaker: new Breaker(clock, REDIS_TIMEOUT_MS),
  }
  const generalRule = { name: GENERAL_TIER, ...TIERS[GENERAL_TIER] }
  const general = new BufferedLimiter(generalRule, createAddAll(generalRule, stores))
  const limiters = new Map<string, Limiter>(
    Object.entries(TIERS).map(([name, rule]) => [name, new LimiterChain({ name, ...rule }, stores)]),
  ).set(GENERAL_TIER, general)
  const networkCounters = Object.entries(NETWORK_TIERS).flatMap(([tier, networks]) =>
    networks.map(({ bits, points, seconds }) => {
      const limiter = new LimiterChain({ name: `${tier}/${bits}`, points, seconds }, stores)
      return { tier, bits, limiter, limit: points }
    }),
  )
  /** Lists the counters of a tier, each with the key of the address in it. */
  function listCounters(tier: Tier, addressKey: string): Counter[] {
    const limiter = limiters.get(tier)
    if (!limiter) throw new RangeError(`There is no tier ${tier}`)
    const networks = networkCounters.flatMap(({ bits, ...counter }) => {
      const key = counter.tier === tier ? widerNetwork(addressKey, bits) : undefined
      return key === undefined ? [] : [{ ...counter, key }]
    })
    return [{ limiter, key: addressKey, limit: TIERS[tier].points }, ...networks]
  }
  return {
    async charge(addressKey, tiers, points = 1) {
      let tightest: LimitState | undefined
      for (const counter of tiers.flatMap((tier) => listCounters(tier, addressKey))) {
        const charge = await consume(counter, points)
        if (!charge.allowed) return charge
        if (!tightest || charge.state.remaining < tightest.remaining) tightest = charge.state
      }
      if (!tightest) throw new RangeError('A request needs at least one tier')
      return { allowed: true, state: tightest }
    },
    signInLockout: new Lockout(stores, clock),
    purge: () => purgeExpired(db),
    async close() {
      await general.flush()
      await closeDatabase(db)
    },
  }
}

async function consume({ limiter, key, limit }: Counter, points: number): Promise<Charge> {
  const { allowed, remaining, msBeforeNext } = await limiter.consume(key, points)
  const resetSeconds = Math.max(1, Math.ceil(msBeforeNext / SECOND))
  return { allowed, state: { limit, remaining, resetSeconds } }
}

/** The counters store the time of the database plus their window. */
async function purgeExpired(db: Database): Promise<void> {
  await db.raw(
    `delete from rate_limits where expire < extract(epoch from now() - interval '1 hour') * 1000
       and (key not like ? or expire < extract(epoch from now() - interval '1 day') * 1000)`,
    [`${BUDGET_PREFIX}%`],
  )
}
