import type { Database } from '../database/database.ts'
import { DAY, MINUTE, SECOND } from '../time.ts'

/** Times in milliseconds. A period that starts with this call lasts until `ends` and allows `max` attempts. */
export type Span = { now: number; ends: number; max: number }

export type Reserved = { isReserved: boolean; endsAt: number }

/**
 * The slow budget of one account: after ten attempts each further one starts a delay, which doubles from 30 seconds to
 * 15 minutes. It never locks for good, because attackers could then shut out the owner. After a day without an attempt
 * it is full again.
 */
const BUDGET = { free: 10, minMs: 30 * SECOND, maxMs: 15 * MINUTE, quietMs: DAY }

/** Keys of budgets begin with this, since they are kept longer than other counters. */
export const BUDGET_PREFIX = 'account:'

/**
 * A limited number of attempts per key, failed or in progress, until their period ends. Each call is one statement. They
 * are in Postgres only, since no sign-in happens without it; if it does not answer, no attempt is made.
 */
export class Attempts {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Reserves an attempt unless the period has none left. The first starts the period; a rejected one changes nothing. */
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
    return rows[0] ? { isReserved: true, endsAt: rows[0].expire } : this.#readRejected(key, now)
  }

  /** Reserves an attempt unless an earlier one has started a delay that lasts; this one may start the next delay. */
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

  /** Restarts the period if it has no attempts left. */
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
