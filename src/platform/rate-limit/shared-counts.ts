import { createSqlTag } from '../database/sql.ts'
import { assertNoTenantTable } from '../database/statements/statement.ts'
import { SECOND } from '../time.ts'
import { createRedisLimiter, type Rule, type Stores } from './limiter.ts'

/** Points of one key that are not yet stored. */
export type Increment = { key: string; points: number }

/** The stored state of a key. `points` may be more than the limit. */
export type StoredCount = { key: string; points: number; msBeforeNext: number }

/** Adds all increments to the shared counters, and returns these. */
export type AddAll = (increments: Increment[]) => Promise<StoredCount[]>

/** Creates the function that stores the increments of a rule in the first store that answers. */
export function createAddAll(rule: Rule, { postgres, redis }: Stores): AddAll {
  const addInPostgres = createAddInPostgres(rule, postgres)
  if (!redis) return addInPostgres
  const limiter = createRedisLimiter(rule, redis)
  const addInRedis: AddAll = (increments) =>
    Promise.all(
      increments.map(async ({ key, points }) => {
        const { consumedPoints, msBeforeNext } = await limiter.penalty(key, points)
        return { key, points: consumedPoints, msBeforeNext }
      }),
    )
  return (increments) => addInRedis(increments).catch(() => addInPostgres(increments))
}

/** Times are those of the database. Rows are written in the order of their keys, as concurrent statements lock them. */
function createAddInPostgres({ name, seconds }: Rule, { db, breaker }: Stores['postgres']): AddAll {
  const windowMs = seconds * SECOND
  const sql = createSqlTag<{ key: string; points: number; remainingMs: number }>(
    db,
    'addRatePoints',
    assertNoTenantTable,
  )
  return async (increments) => {
    const keys = increments.map(({ key }) => `${name}:${key}`)
    const points = increments.map((increment) => increment.points)
    const rows = await breaker.run(
      () => sql`
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
    return rows.map((row) => ({
      key: row.key.slice(name.length + 1),
      points: row.points,
      msBeforeNext: row.remainingMs,
    }))
  }
}
