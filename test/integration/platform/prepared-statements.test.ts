import { expect } from 'chai'
import { startTestApp, type TestApp } from '../../support/app.ts'

/** Counts the statements that one connection has prepared after it executed one twice. */
async function countPrepared({ system }: TestApp): Promise<number> {
  return system.db.transaction(async (tx) => {
    for (let time = 0; time < 2; time += 1) await tx.raw('select ?::int as n', [time])
    const { rows } = await tx.raw<{ rows: { text: string }[] }>('select statement as text from pg_prepared_statements')
    return rows.filter(({ text }) => text === 'select $1::int as n').length
  })
}

describe('prepared statements', () => {
  let app: TestApp | undefined

  afterEach(() => app?.stop())

  it('are kept by each connection under a name, with one plan for all values', async () => {
    app = await startTestApp({ ROLES: 'http' })
    expect(await countPrepared(app)).to.equal(1)
    const { rows } = await app.system.db.raw<{ rows: object[] }>('show plan_cache_mode')
    expect(rows).to.deep.equal([{ plan_cache_mode: 'force_generic_plan' }])
  })

  it('are not used if the setting says so, for a pooler between the process and the database', async () => {
    app = await startTestApp({ ROLES: 'http', DB_PREPARED_STATEMENTS: 'false' })
    expect(await countPrepared(app)).to.equal(0)
    const { rows } = await app.system.db.raw<{ rows: object[] }>('show plan_cache_mode')
    expect(rows).to.deep.equal([{ plan_cache_mode: 'auto' }])
  })
})
