import type { RedisClientType } from 'redis'
import { widerNetwork } from '../client-address.ts'
import { closeDatabase, type Database, openDatabase } from '../database/database.ts'
import { type Clock, DAY, SECOND } from '../time.ts'
import { Attempts, BUDGET_PREFIX } from './attempts.ts'
import { Breaker, createLimiter, type Limiter, type Stores } from './limiter.ts'
import { BufferedLimiter, type Buffering } from './buffered-limiter.ts'
import { Lockout } from './lockout.ts'
import { openSharedCounts } from './shared-counts.ts'

/**
 * Requests per address in each tier, and calls of workflow webhooks per workspace, within a window that starts with the
 * first one.
 */
export const TIERS = {
  forgot: { points: 3, seconds: 3600 },
  reset: { points: 3, seconds: 3600 },
  signIn: { points: 5, seconds: 60 },
  signUp: { points: 3, seconds: 300 },
  auth: { points: 10, seconds: 60 },
  webhookRejected: { points: 60, seconds: 60 },
  workflowWebhook: { points: 600, seconds: 60 },
  api: { points: 100, seconds: 60 },
} as const

/**
 * Size of the genuine calls of the provider of one channel. A number sends at most 1,000 messages a second, each of which has
 * three statuses of about 1 KB, and receives fewer: together less than half of this.
 */
const WEBHOOK_BYTES = { bytes: 512 * 1024 ** 2, seconds: 60 }

/**
 * Size of the answers to requests with an Idempotency-Key that are kept for one workspace. Most have less than 1 KB, those
 * with a definition half a megabyte.
 */
export const KEYED_ANSWER_BYTES = { bytes: 2 * 1024 ** 3, seconds: 86_400 }

/** The highest limit that a caller may have, and its window. */
export const CALLER_CALLS = { points: 10_000, seconds: 60 }

/**
 * Requests per IPv6 network in a tier beside those per address, by the network's prefix length: the holder of a /56 or
 * /48 has all of its /64 networks, each of which is an address.
 */
const NETWORK_TIERS: Partial<Record<Tier, { bits: number; points: number; seconds: number }[]>> = {
  signUp: [
    { bits: 56, points: 20, seconds: 3600 },
    { bits: 48, points: 60, seconds: 3600 },
  ],
}

export type Tier = keyof typeof TIERS

/** The counter of an address, or of its network, in a tier. */
type Counter = { limiter: Limiter; key: string; limit: number }

/** The tier of every request, which is counted in memory. The others limit guesses and are counted exactly. */
const GENERAL_TIER = 'api'
const GENERAL_BUFFERING: Buffering = { unstoredMax: 10, flushEveryMs: 100 }

/** Windows of a day that overlap the seven days for which webhook bodies are kept. */
const KEPT_WINDOWS = 8
const KB = 1024
/** The stores count kilobytes in integers of 32 bits. */
const KB_MAX = 2 ** 30
/** Part of a limit of bytes that each process may consume before it has stored it. */
const UNSTORED_PART = 1 / 64

/** The state of a tier. `resetSeconds` is at least 1. */
export type LimitState = { limit: number; remaining: number; resetSeconds: number }

/** `state` is that of the tier with the least remaining, or of the tier that rejected the request. */
export type Charge = { allowed: boolean; state: LimitState }

export interface RateLimits {
  /** Charges the tiers in order; the first rejection ends it. */
  charge(addressKey: string, tiers: Tier[], points?: number): Promise<Charge>
  /** Charges callers, each with a limit of its own in a minute, in order; the first rejection ends it. */
  chargeCallers(callers: { key: string; limit: number }[], points?: number): Promise<Charge>
  /** Charges a genuine call of the provider of a channel. */
  chargeWebhook(channelId: string, bytes: number): Promise<Charge>
  /** Returns true if a workspace may keep the body of a further webhook call. */
  mayKeepWebhook(tenantId: string, bytes: number): Promise<boolean>
  /** Charges the answer to a request with an Idempotency-Key, which is kept for a workspace. */
  chargeKeyedAnswer(tenantId: string, bytes: number): Promise<Charge>
  signInLockout: Lockout
  /** Deletes counters whose window is over. */
  purge(): Promise<void>
  close(): Promise<void>
}

/** The time that a store has to answer before the next one is asked. */
export type StoreTimeouts = { redisMs: number; databaseMs: number }

const TIMEOUTS: StoreTimeouts = { redisMs: 250, databaseMs: 3 * SECOND }
const CONNECTIONS = 4

/** Opens the limits with the counts that are stored, or without if no store answers within a few seconds. */
export async function openRateLimits(options: {
  url: string
  isPooled?: boolean
  redis: RedisClientType | undefined
  clock: Clock
  /** Bytes of webhook calls that a workspace may keep for seven days. */
  webhookBytes?: number
  timeouts?: StoreTimeouts
}): Promise<RateLimits> {
  const { url, isPooled = false, redis, clock, webhookBytes = Infinity, timeouts = TIMEOUTS } = options
  // A separate pool, so that a flood of requests cannot take the connections of admitted ones.
  const db = openDatabase(url, {
    connections: CONNECTIONS,
    statementTimeoutMs: timeouts.databaseMs,
    acquireTimeoutMs: timeouts.databaseMs,
    isPooled,
    name: 'parley limits',
  })
  const stores: Stores = {
    postgres: { db, breaker: new Breaker(clock, timeouts.databaseMs) },
    redis: redis && { client: redis, breaker: new Breaker(clock, timeouts.redisMs) },
  }
  const generalRule = { name: GENERAL_TIER, ...TIERS[GENERAL_TIER] }
  const general = new BufferedLimiter(generalRule, GENERAL_BUFFERING, openSharedCounts(generalRule, stores))
  const callerRule = { name: 'caller', ...CALLER_CALLS }
  const callers = new BufferedLimiter(callerRule, GENERAL_BUFFERING, openSharedCounts(callerRule, stores))
  const webhooks = createByteCounter('webhookBytes', WEBHOOK_BYTES, stores)
  const keptRule = { bytes: webhookBytes / KEPT_WINDOWS, seconds: DAY / SECOND }
  const keptWebhooks = createByteCounter('keptWebhookBytes', keptRule, stores)
  const keyedAnswers = createByteCounter('keyedAnswerBytes', KEYED_ANSWER_BYTES, stores)
  const buffered = [general, callers, webhooks.limiter, keptWebhooks.limiter, keyedAnswers.limiter]
  await Promise.all(buffered.map((limiter) => limiter.load()))
  const listCounters = createTiers(general, stores)
  return {
    charge: (addressKey, tiers, points = 1) =>
      consumeAll(
        tiers.flatMap((tier) => listCounters(tier, addressKey)),
        points,
      ),
    chargeCallers: (charged, points = 1) =>
      consumeAll(
        charged.map((caller) => ({ limiter: callers, ...caller })),
        points,
      ),
    chargeWebhook: (channelId, bytes) => consume({ ...webhooks, key: channelId }, toKilobytes(bytes)),
    async mayKeepWebhook(tenantId, bytes) {
      if (webhookBytes === Infinity) return true
      return (await consume({ ...keptWebhooks, key: tenantId }, toKilobytes(bytes))).allowed
    },
    chargeKeyedAnswer: (tenantId, bytes) => consume({ ...keyedAnswers, key: tenantId }, toKilobytes(bytes)),
    signInLockout: new Lockout(new Attempts(db), clock),
    purge: () => purgeExpired(db),
    async close() {
      await Promise.all(buffered.map((limiter) => limiter.flush()))
      await closeDatabase(db)
    },
  }
}

/** Creates the limiters of all tiers. The function lists the counters of a tier, each with the key of the address in it. */
function createTiers(general: Limiter, stores: Stores): (tier: Tier, addressKey: string) => Counter[] {
  const limiters = new Map<string, Limiter>(
    Object.entries(TIERS).map(([name, rule]) => [name, createLimiter({ name, ...rule }, stores)]),
  ).set(GENERAL_TIER, general)
  const networkCounters = Object.entries(NETWORK_TIERS).flatMap(([tier, networks]) =>
    networks.map(({ bits, points, seconds }) => {
      const limiter = createLimiter({ name: `${tier}/${bits}`, points, seconds }, stores)
      return { tier, bits, limiter, limit: points }
    }),
  )
  return (tier, addressKey) => {
    const limiter = limiters.get(tier)
    if (!limiter) throw new RangeError(`There is no tier ${tier}`)
    const networks = networkCounters.flatMap(({ bits, ...counter }) => {
      const key = counter.tier === tier ? widerNetwork(addressKey, bits) : undefined
      return key === undefined ? [] : [{ ...counter, key }]
    })
    return [{ limiter, key: addressKey, limit: TIERS[tier].points }, ...networks]
  }
}

/** Consumes points of the counters in order; the first rejection ends it. */
async function consumeAll(counters: Counter[], points: number): Promise<Charge> {
  let tightest: LimitState | undefined
  for (const counter of counters) {
    const charge = await consume(counter, points)
    if (!charge.allowed) return charge
    if (!tightest || charge.state.remaining < tightest.remaining) tightest = charge.state
  }
  if (!tightest) throw new RangeError('A request needs at least one counter')
  return { allowed: true, state: tightest }
}

async function consume({ limiter, key, limit }: Counter, points: number): Promise<Charge> {
  const { allowed, remaining, msBeforeNext } = await limiter.consume(key, points, limit)
  const resetSeconds = Math.max(1, Math.ceil(msBeforeNext / SECOND))
  return { allowed, state: { limit, remaining, resetSeconds } }
}

/** Creates a limit of bytes, which is counted in kilobytes. */
function createByteCounter(name: string, { bytes, seconds }: { bytes: number; seconds: number }, stores: Stores) {
  const points = Math.min(KB_MAX, Math.floor(bytes / KB))
  const rule = { name, points, seconds }
  const buffering = { unstoredMax: Math.ceil(points * UNSTORED_PART), flushEveryMs: SECOND }
  return { limiter: new BufferedLimiter(rule, buffering, openSharedCounts(rule, stores)), limit: points }
}

function toKilobytes(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / KB))
}

/** The counters store the time of the database plus their window. */
async function purgeExpired(db: Database): Promise<void> {
  await db.raw(
    `delete from rate_limits where expire < extract(epoch from now() - interval '1 hour') * 1000
       and (key not like ? or expire < extract(epoch from now() - interval '1 day') * 1000)`,
    [`${BUDGET_PREFIX}%`],
  )
}
