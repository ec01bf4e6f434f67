import { loadConfig } from '../../src/config.ts'
import { openPools } from '../../src/platform/database/pools/pools.ts'

/**
 * A program that executes a statement twice on one connection for the work of the engine, and prints as JSON how often the
 * connection has prepared it and how it is planned. A process names only so many statements, so this one has no others.
 * Its argument is `pooled` for a database behind a pooler; all else is read from the environment.
 */
const { url = '', pools: settings } = loadConfig().database
const { requests, webhooks, engine, background } = openPools({ url, isPooled: process.argv[2] === 'pooled' }, settings)
const inspected = await engine.db.transaction(async (tx) => {
  for (let time = 0; time < 2; time += 1) await tx.raw('select ?::int as n', [time])
  const { rows } = await tx.raw<{ rows: { text: string }[] }>('select statement as text from pg_prepared_statements')
  const planning = await tx.raw<{ rows: [{ plan_cache_mode: string }] }>('show plan_cache_mode')
  const prepared = rows.filter(({ text }) => text === 'select $1::int as n').length
  return { prepared, planning: planning.rows[0].plan_cache_mode }
})
await Promise.all([requests, webhooks, engine, background].map((pool) => pool.close()))
process.stdout.write(JSON.stringify(inspected))
