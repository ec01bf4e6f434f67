import { LRUCache } from 'lru-cache'
import type { RedisClientType } from 'redis'
import type { Database } from '../database/database.ts'

const TRIES_MAX = 5

/** Instants in milliseconds. `ends` is when what this call begins is over. */
export type Span = { now: number; ends: number }

export type Taken = { isTaken: boolean; endsAt: number }

/** Holds for a key at most five tries, failed or under way, until their span ends. Every call is one atomic step. */
export interface AttemptStore {
  /** Takes one more, unless five are held. The first begins the span; a refused one changes nothing. */
  take(key: string, span: Span): Promise<Taken>
  /** Begins the span anew if five are held. */
  lock(key: string, span: Span): Promise<void>
  giveBack(key: string): Promise<void>
  forget(key: string): Promise<void>
}

export class PostgresAttemptStore implements AttemptStore {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  async take(key: string, { now, ends }: Span): Promise<Taken> {
    const { rows } = await this.#db.raw<{ rows: { expire: number }[] }>(
      `insert into rate_limits as held (key, points, expire) values (:key, 1, :ends)
       on conflict (key) do update set
         points = case when held.expire <= :now then 1 else held.points + 1 end,
         expire = case when held.expire <= :now then excluded.expire else held.expire end
       where held.expire <= :now or held.points < :max
       returning expire`,
      { key, now, ends, max: TRIES_MAX },
    )
    if (rows[0]) return { isTaken: true, endsAt: rows[0].expire }
    const held = await this.#db('rate_limits').where({ key }).first<{ expire: number } | undefined>('expire')
    return { isTaken: false, endsAt: held?.expire ?? now }
  }

  async lock(key: string, { ends }: Span): Promise<void> {
    await this.#db('rate_limits').where({ key }).andWhere('points', '>=', TRIES_MAX).update({ expire: ends })
  }

  async giveBack(key: string): Promise<void> {
    await this.#db('rate_limits').where({ key }).andWhere('points', '>', 0).decrement('points')
  }

  async forget(key: string): Promise<void> {
    await this.#db('rate_limits').where({ key }).delete()
  }
}

// The end is kept as a value because the processes' clock decides, as in Postgres; Redis' own expiry only cleans up.
const TAKE = `
local held = redis.call('hmget', KEYS[1], 'points', 'ends')
local points, ends = tonumber(held[1] or 0), tonumber(held[2] or 0)
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

const GIVE_BACK = `
if tonumber(redis.call('hget', KEYS[1], 'points') or 0) > 0 then redis.call('hincrby', KEYS[1], 'points', -1) end`

export class RedisAttemptStore implements AttemptStore {
  readonly #client: RedisClientType

  constructor(client: RedisClientType) {
    this.#client = client
  }

  async take(key: string, span: Span): Promise<Taken> {
    const [taken, endsAt] = (await this.#run(TAKE, key, span)) as [number, number]
    return { isTaken: taken === 1, endsAt }
  }

  async lock(key: string, span: Span): Promise<void> {
    await this.#run(LOCK, key, span)
  }

  async giveBack(key: string): Promise<void> {
    await this.#client.eval(GIVE_BACK, { keys: [key] })
  }

  async forget(key: string): Promise<void> {
    await this.#client.del(key)
  }

  #run(script: string, key: string, { now, ends }: Span): Promise<unknown> {
    return this.#client.eval(script, { keys: [key], arguments: [`${now}`, `${ends}`, `${TRIES_MAX}`] })
  }
}

const KEYS_MAX = 10_000

export class MemoryAttemptStore implements AttemptStore {
  readonly #held = new LRUCache<string, { points: number; ends: number }>({ max: KEYS_MAX })

  async take(key: string, { now, ends }: Span): Promise<Taken> {
    const found = this.#held.get(key)
    const held = found && found.ends > now ? found : { points: 0, ends }
    if (held.points >= TRIES_MAX) return { isTaken: false, endsAt: held.ends }
    this.#held.set(key, { ...held, points: held.points + 1 })
    return { isTaken: true, endsAt: held.ends }
  }

  async lock(key: string, { ends }: Span): Promise<void> {
    const held = this.#held.get(key)
    if (held && held.points >= TRIES_MAX) held.ends = ends
  }

  async giveBack(key: string): Promise<void> {
    const held = this.#held.get(key)
    if (held && held.points > 0) held.points -= 1
  }

  async forget(key: string): Promise<void> {
    this.#held.delete(key)
  }
}
