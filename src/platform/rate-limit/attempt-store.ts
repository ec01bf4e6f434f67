import { LRUCache } from 'lru-cache'
import type { RedisClientType } from 'redis'
import type { Database } from '../database/database.ts'
import { BUDGET, nextDelay } from './attempt-budget.ts'

/** Times in milliseconds. A period that starts with this call lasts until `ends` and allows `max` attempts. */
export type Span = { now: number; ends: number; max: number }

export type Reserved = { isReserved: boolean; endsAt: number }

/** Stores a limited number of attempts per key, failed or in progress, until their period ends. Calls are atomic. */
export interface AttemptStore {
  /** Reserves an attempt unless the period has none left. The first starts the period; a rejected one changes nothing. */
  reserve(key: string, span: Span): Promise<Reserved>
  /** Reserves an attempt unless an earlier one has started a delay that lasts; this one may start the next delay. */
  reserveDelayed(key: string, now: number): Promise<Reserved>
  /** Restarts the period if it has no attempts left. */
  lock(key: string, span: Span): Promise<void>
  release(key: string): Promise<void>
  clear(key: string): Promise<void>
}

export class PostgresAttemptStore implements AttemptStore {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  async reserve(key: string, { now, ends, max }: Span): Promise<Reserved> {
    const { rows } = await this.#db.raw<{ rows: { expire: number }[] }>(
      `insert into rate_limits as stored (key, points, expire) values (:key, 1, :ends)
       on conflict (key) do update set
         points = case when stored.expire <= :now then 1 else stored.points + 1 end,
         expire = case when stored.expire <= :now then excluded.expire else stored.expire end
       where stored.expire <= :now or stored.points < :max
       returning expire`,
      { key, now, ends, max },
    )
    if (rows[0]) return { isReserved: true, endsAt: rows[0].expire }
    return this.#readRejected(key, now)
  }

  async reserveDelayed(key: string, now: number): Promise<Reserved> {
    const { rows } = await this.#db.raw<{ rows: { expire: number }[] }>(
      `insert into rate_limits as stored (key, points, expire) values (:key, 1, :now)
       on conflict (key) do update set
         points = case when stored.expire <= :quiet then 1 else stored.points + 1 end,
         expire = case when stored.expire <= :quiet or stored.points < :free then :now
           else :now + least(:minMs * power(2, least(stored.points - :free, 20))::bigint, :maxMs) end
       where stored.expire <= :now or stored.points <= :free
       returning expire`,
      { ...BUDGET, key, now, quiet: now - BUDGET.quietMs },
    )
    return rows[0] ? { isReserved: true, endsAt: rows[0].expire } : this.#readRejected(key, now)
  }

  async #readRejected(key: string, now: number): Promise<Reserved> {
    const row = await this.#db('rate_limits').where({ key }).first<{ expire: number } | undefined>('expire')
    return { isReserved: false, endsAt: row?.expire ?? now }
  }

  async lock(key: string, { ends, max }: Span): Promise<void> {
    await this.#db('rate_limits').where({ key }).andWhere('points', '>=', max).update({ expire: ends })
  }

  async release(key: string): Promise<void> {
    await this.#db('rate_limits').where({ key }).andWhere('points', '>', 0).decrement('points')
  }

  async clear(key: string): Promise<void> {
    await this.#db('rate_limits').where({ key }).delete()
  }
}

// The end is stored as a value because the clock of the processes decides, as in Postgres; the expiry of Redis only
// cleans up.
const RESERVE = `
local stored = redis.call('hmget', KEYS[1], 'points', 'ends')
local points, ends = tonumber(stored[1] or 0), tonumber(stored[2] or 0)
local now, max = tonumber(ARGV[1]), tonumber(ARGV[3])
if ends <= now then points, ends = 0, tonumber(ARGV[2]) end
if points >= max then return {0, ends} end
redis.call('hset', KEYS[1], 'points', points + 1, 'ends', string.format('%.0f', ends))
redis.call('pexpire', KEYS[1], string.format('%.0f', ends - now))
return {1, ends}`

const RESERVE_DELAYED = `
local stored = redis.call('hmget', KEYS[1], 'points', 'ends')
local points, ends = tonumber(stored[1] or 0), tonumber(stored[2] or 0)
local now, free, min, max, quiet =
  tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
if ends > now and points > free then return {0, ends} end
if ends <= now - quiet then points = 0 end
local delay = 0
if points >= free then delay = math.min(min * 2 ^ math.min(points - free, 20), max) end
redis.call('hset', KEYS[1], 'points', points + 1, 'ends', string.format('%.0f', now + delay))
redis.call('pexpire', KEYS[1], string.format('%.0f', delay + quiet))
return {1, now + delay}`

const LOCK = `
if tonumber(redis.call('hget', KEYS[1], 'points') or 0) < tonumber(ARGV[3]) then return end
redis.call('hset', KEYS[1], 'ends', ARGV[2])
redis.call('pexpire', KEYS[1], string.format('%.0f', ARGV[2] - ARGV[1]))`

const RELEASE = `
if tonumber(redis.call('hget', KEYS[1], 'points') or 0) > 0 then redis.call('hincrby', KEYS[1], 'points', -1) end`

export class RedisAttemptStore implements AttemptStore {
  readonly #client: RedisClientType

  constructor(client: RedisClientType) {
    this.#client = client
  }

  async reserve(key: string, span: Span): Promise<Reserved> {
    return toReserved(await this.#run(RESERVE, key, span))
  }

  async reserveDelayed(key: string, now: number): Promise<Reserved> {
    const { free, minMs, maxMs, quietMs } = BUDGET
    const values = [now, free, minMs, maxMs, quietMs].map(String)
    return toReserved(await this.#client.eval(RESERVE_DELAYED, { keys: [key], arguments: values }))
  }

  async lock(key: string, span: Span): Promise<void> {
    await this.#run(LOCK, key, span)
  }

  async release(key: string): Promise<void> {
    await this.#client.eval(RELEASE, { keys: [key] })
  }

  async clear(key: string): Promise<void> {
    await this.#client.del(key)
  }

  #run(script: string, key: string, { now, ends, max }: Span): Promise<unknown> {
    return this.#client.eval(script, { keys: [key], arguments: [`${now}`, `${ends}`, `${max}`] })
  }
}

function toReserved(reply: unknown): Reserved {
  if (!Array.isArray(reply)) throw new TypeError('Redis returned an unexpected reply')
  return { isReserved: reply[0] === 1, endsAt: Number(reply[1]) }
}

const KEYS_MAX = 10_000

export class MemoryAttemptStore implements AttemptStore {
  readonly #attempts = new LRUCache<string, { points: number; ends: number }>({ max: KEYS_MAX })

  async reserve(key: string, { now, ends, max }: Span): Promise<Reserved> {
    const existing = this.#attempts.get(key)
    const current = existing && existing.ends > now ? existing : { points: 0, ends }
    if (current.points >= max) return { isReserved: false, endsAt: current.ends }
    this.#attempts.set(key, { ...current, points: current.points + 1 })
    return { isReserved: true, endsAt: current.ends }
  }

  async reserveDelayed(key: string, now: number): Promise<Reserved> {
    const { points, ends } = this.#attempts.get(key) ?? { points: 0, ends: now }
    if (ends > now && points > BUDGET.free) return { isReserved: false, endsAt: ends }
    const current = ends <= now - BUDGET.quietMs ? 0 : points
    const endsAt = now + nextDelay(current)
    this.#attempts.set(key, { points: current + 1, ends: endsAt })
    return { isReserved: true, endsAt }
  }

  async lock(key: string, { ends, max }: Span): Promise<void> {
    const existing = this.#attempts.get(key)
    if (existing && existing.points >= max) existing.ends = ends
  }

  async release(key: string): Promise<void> {
    const existing = this.#attempts.get(key)
    if (existing && existing.points > 0) existing.points -= 1
  }

  async clear(key: string): Promise<void> {
    this.#attempts.delete(key)
  }
}
