import { readFileSync, writeFileSync } from 'node:fs'
import { expect } from 'chai'
import { openDatabase } from '../../src/platform/database/database.ts'
import { migrate } from '../../src/platform/database/migrate.ts'
import { cloneDatabase } from '../support/postgres.ts'
import { renderTableTypes } from '../support/table-types.ts'

const FILE = new URL('../../src/seed/tables.ts', import.meta.url)

describe('src/seed/tables.ts', () => {
  it('has the columns of every table as the migrations create them; WRITE_TYPES=1 writes it', async () => {
    const database = await cloneDatabase(async (url) => {
      await migrate(url)
    })
    const db = openDatabase(database.url)
    const rendered = await renderTableTypes(db)
    await db.destroy()
    await database.drop()
    if (process.env['WRITE_TYPES'] === '1') writeFileSync(FILE, rendered)
    expect(readFileSync(FILE, 'utf8')).to.equal(rendered)
  })
})
