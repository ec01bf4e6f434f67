import { once } from 'node:events'
import { withinTime } from '../concurrency/deadline.ts'
import { createSqlTag } from '../database/sql.ts'
import { assertNoTenantTable } from '../database/statements/statement.ts'
import { SECOND } from '../time.ts'
import { createRedisLimiter, type Rule, type Stores } from './limiter.ts'

/** Points of one key that are not yet stored. */
export type Increment = { key: string; points: number }

/** The stored state of a key. `points` may be more than the limit. */
export type StoredCount = { key: string; points: number; msBeforeNext: number }

/** The counters of one rule in the first shared store that answers. */
export type SharedCounts = {
  /** Adds all increments, and returns the counters after that. */
  add(increments: Increment[]): Promise<StoredCount[]>
  /** Lists counters whose window has not ended, `max` or a few more of them. */
  list(max: number): Promise<StoredCount[]>
}

export function openSharedCounts(rule: Rule, { postgres, redis }: Stores): SharedCounts {
  const inPostgres = postgresCounts(rule, postgres)
  if (!redis) return inPostgres
  const inRedis = redisCounts(rule, redis)
  return {
    add: (increments) => inRedis.add(increments).catch(() => inPostgres.add(increments)),
    list: (max) => inRedis.list(max).catch(() => inPostgres.list(max)),
  }
}

/** Times are those of the database. Rows are written in the order of their keys, as concurrent statements lock them. */
function postgresCounts({ name, seconds }: Rule, { db, breaker }: Stores['postgres']): SharedCounts {
  const windowMs = seconds * SECOND
  const sql = (statement: string) =>
    createSqlTag<{ key: string; points: number; remainingMs: number }>(db, statement, assertNoTenantTable)
  const toCount = (row: { key: string; points: number; remainingMs: number }) => ({
    key: row.key.slice(name.length + 1),
    points: row.points,
    msBeforeNext: row.remainingMs,
  })
  return {
    async add(increments) {
      const keys = increments.map(({ key }) => `${name}:${key}`)
      const points = increments.map((increment) => increment.points)
      const rows = await breaker.run(
        () => sql('addRatePoints')`
          with clock as materialized (select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms)
          insert into rate_limits as stored (key, points, expire)
          select x.key, x.points, clock.now_ms + ${windowMs}::bigint
          from clock, unnest(${keys}::text[], ${points}::integer[]) as x (key, points)
          order by x.key
          on conflict (key) do update set
            points = case when stored.expire <= excluded.expire - ${windowMs}::bigint then excluded.points
              else stored.points + excluded.points end,
            expire = case when stored.expire <= excluded.expire - ${windowMs}::bigint then excluded.expire
              else stored.expire end
          returning key, points, expire - (extract(epoch from clock_timestamp()) * 1000)::bigint as remaining_ms`,
      )
      return rows.map(toCount)
    },
    async list(max) {
      const rows = await breaker.run(
        () => sql('listRatePoints')`
          with clock as materialized (select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms)
          select key, points, expire - now_ms as remaining_ms from clock, rate_limits
          where expire > now_ms and starts_with(key, ${`${name}:`})
          order by expire desc limit ${max}`,
      )
      return rows.map(toCount)
    },
  }
}

/** Includes the time to connect, as a process lists when it starts. */
const LIST_MAX_MS = 2 * SECOND
const SCAN_COUNT = 1000
/** Keys may be those of other programs. */
const SCANS_MAX = 200

function redisCounts(rule: Rule, redis: NonNullable<Stores['redis']>): SharedCounts {
  const limiter = createRedisLimiter(rule, redis)
  const list = async (max: number) => {
    const counts: StoredCount[] = []
    let scans = 0
    if (!redis.client.isReady) await once(redis.client, 'ready')
    for await (const keys of redis.client.scanIterator({ MATCH: limiter.getKey('*'), COUNT: SCAN_COUNT })) {
      const found = keys.map(async (stored) => {
        const key = limiter.parseKey(stored)
        const count = await limiter.get(key)
        return count ? [{ key, points: count.consumedPoints, msBeforeNext: count.msBeforeNext }] : []
      })
      counts.push(...(await Promise.all(found)).flat())
      scans += 1
      if (counts.length >= max || scans === SCANS_MAX) break
    }
    return counts
  }
  return {
    add: (increments) =>
      Promise.all(
        increments.map(async ({ key, points }) => {
          const { consumedPoints, msBeforeNext } = await limiter.penalty(key, points)
          return { key, points: consumedPoints, msBeforeNext }
        }),
      ),
    list: (max) => withinTime(LIST_MAX_MS, list(max)),
  }
}
