import { expect } from 'chai'
import { loadConfig } from '../../../src/config.ts'
import type { Database } from '../../../src/platform/database/database.ts'
import { openPools } from '../../../src/platform/database/pools/pools.ts'
import { cloneDatabase } from '../../support/postgres.ts'

/** Executes a statement twice on one connection, and returns the number of its plans and how they are made. */
async function inspectConnection(db: Database): Promise<{ prepared: number; planning: string }> {
  return db.transaction(async (tx) => {
    for (let time = 0; time < 2; time += 1) await tx.raw('select ?::int as n', [time])
    const { rows } = await tx.raw<{ rows: { text: string }[] }>('select statement as text from pg_prepared_statements')
    const planning = await tx.raw<{ rows: [{ plan_cache_mode: string }] }>('show plan_cache_mode')
    const prepared = rows.filter(({ text }) => text === 'select $1::int as n').length
    return { prepared, planning: planning.rows[0].plan_cache_mode }
  })
}

/** Inspects a connection for the work of the engine, of a process with this environment. */
async function inspectEngine(environment: Record<string, string>, isPooled = false) {
  const { url, drop } = await cloneDatabase(() => Promise.resolve())
  const { pools: settings } = loadConfig({ DATABASE_URL: url, SECRET_KEY: 'ab'.repeat(32), ...environment }).database
  const pools = openPools({ url, isPooled }, settings)
  try {
    return await inspectConnection(pools.engine.db)
  } finally {
    await Promise.all(Object.values(pools).map((pool) => pool.close()))
    await drop()
  }
}

describe('prepared statements', () => {
  it('are kept by each connection under a name, with one plan for all values', async () => {
    expect(await inspectEngine({})).to.deep.equal({ prepared: 1, planning: 'force_generic_plan' })
  })

  it('are not used if the setting says so', async () => {
    const inspected = await inspectEngine({ DB_PREPARED_STATEMENTS: 'false' })
    expect(inspected).to.deep.equal({ prepared: 0, planning: 'auto' })
  })

  it('are not used through a pooler that gives each transaction another session', async () => {
    expect(await inspectEngine({}, true)).to.deep.equal({ prepared: 0, planning: 'auto' })
  })
})
