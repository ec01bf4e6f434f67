import { LRUCache } from 'lru-cache'
import type { RedisClientType } from 'redis'
import type { Database } from '../database/database.ts'

const ATTEMPTS_MAX = 5

/** Times in milliseconds. A period that starts with this call lasts until `ends`. */
export type Span = { now: number; ends: number }

export type Reserved = { isReserved: boolean; endsAt: number }

/** Stores at most five attempts per key, failed or in progress, until their period ends. Every call is atomic. */
export interface AttemptStore {
  /** Reserves an attempt unless five are stored. The first starts the period; a rejected one changes nothing. */
  reserve(key: string, span: Span): Promise<Reserved>
  /** Restarts the period if five attempts are stored. */
  lock(key: string, span: Span): Promise<void>
  release(key: string): Promise<void>
  clear(key: string): Promise<void>
}

export class PostgresAttemptStore implements AttemptStore {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  async reserve(key: string, { now, ends }: Span): Promise<Reserved> {
    const { rows } = await this.#db.raw<{ rows: { expire: number }[] }>(
      `insert into rate_limits as stored (key, points, expire) values (:key, 1, :ends)
       on conflict (key) do update set
         points = case when stored.expire <= :now then 1 else stored.points + 1 end,
         expire = case when stored.expire <= :now then excluded.expire else stored.expire end
       where stored.expire <= :now or stored.points < :max
       returning expire`,
      { key, now, ends, max: ATTEMPTS_MAX },
    )
    if (rows[0]) return { isReserved: true, endsAt: rows[0].expire }
    const row = await this.#db('rate_limits').where({ key }).first<{ expire: number } | undefined>('expire')
    return { isReserved: false, endsAt: row?.expire ?? now }
  }

  async lock(key: string, { ends }: Span): Promise<void> {
    await this.#db('rate_limits').where({ key }).andWhere('points', '>=', ATTEMPTS_MAX).update({ expire: ends })
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
    const reply = await this.#run(RESERVE, key, span)
    if (!Array.isArray(reply)) throw new TypeError('Redis returned an unexpected reply')
    return { isReserved: reply[0] === 1, endsAt: Number(reply[1]) }
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

  #run(script: string, key: string, { now, ends }: Span): Promise<unknown> {
    return this.#client.eval(script, { keys: [key], arguments: [`${now}`, `${ends}`, `${ATTEMPTS_MAX}`] })
  }
}

const KEYS_MAX = 10_000

export class MemoryAttemptStore implements AttemptStore {
  readonly #attempts = new LRUCache<string, { points: number; ends: number }>({ max: KEYS_MAX })

  async reserve(key: string, { now, ends }: Span): Promise<Reserved> {
    const existing = this.#attempts.get(key)
    const current = existing && existing.ends > now ? existing : { points: 0, ends }
    if (current.points >= ATTEMPTS_MAX) return { isReserved: false, endsAt: current.ends }
    this.#attempts.set(key, { ...current, points: current.points + 1 })
    return { isReserved: true, endsAt: current.ends }
  }

  async lock(key: string, { ends }: Span): Promise<void> {
    const existing = this.#attempts.get(key)
    if (existing && existing.points >= ATTEMPTS_MAX) existing.ends = ends
  }

  async release(key: string): Promise<void> {
    const existing = this.#attempts.get(key)
    if (existing && existing.points > 0) existing.points -= 1
  }

  async clear(key: string): Promise<void> {
    this.#attempts.delete(key)
  }
}
