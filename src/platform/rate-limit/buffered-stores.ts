import { createSqlTag } from '../database/sql.ts'
import { assertNoTenantTable } from '../database/statements/statement.ts'
import { SECOND } from '../time.ts'
import type { AddAll } from './buffered-limiter.ts'
import { firstAnswer } from './first-answer.ts'
import { createRedisConsumer, type Rule, type Stores } from './limiter-chain.ts'

/** Creates the function that stores the increments of a rule in the first store that answers. */
export function createAddAll(rule: Rule, { db, databaseBreaker, redis, breaker }: Stores): AddAll {
  const inPostgres = addInPostgres(rule, db)
  const stores: AddAll[] = [(increments) => databaseBreaker.run(() => inPostgres(increments))]
  if (redis) {
    const inRedis = addInRedis(rule, redis)
    stores.unshift((increments) => breaker.run(() => inRedis(increments)))
  }
  return (increments) => firstAnswer(stores, (addAll) => addAll(increments))
}

/** Writes the rows in the order of their keys, as concurrent flushes lock them. */
function addInPostgres({ name, seconds }: Rule, db: Stores['db']): AddAll {
  const windowMs = seconds * SECOND
  return async (increments) => {
    const keys = increments.map(({ key }) => `${name}:${key}`)
    const points = increments.map((increment) => increment.points)
    const rows = await createSqlTag<{ key: string; points: number; remainingMs: number }>(
      db,
      'addRatePoints',
      assertNoTenantTable,
    )`
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
      returning key, points, expire - (extract(epoch from clock_timestamp()) * 1000)::bigint as remaining_ms`
    return rows.map((row) => ({
      key: row.key.slice(name.length + 1),
      points: row.points,
      msBeforeNext: row.remainingMs,
    }))
  }
}

function addInRedis(rule: Rule, redis: NonNullable<Stores['redis']>): AddAll {
  const consume = createRedisConsumer(rule, redis)
  return (increments) =>
    Promise.all(
      increments.map(async ({ key, points }) => {
        const { allowed, remaining, msBeforeNext } = await consume(key, points)
        return { key, points: allowed ? rule.points - remaining : rule.points + 1, msBeforeNext }
      }),
    )
}
