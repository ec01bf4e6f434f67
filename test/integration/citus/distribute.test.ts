import { expect } from 'chai'
import { closeDatabase, openDatabase } from '../../../src/platform/database/database.ts'
import { distribute } from '../../../src/platform/database/distribution/distribute.ts'
import { REFERENCE_TABLES, TENANT_TABLES } from '../../../src/platform/database/statements/tables.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { migrateDatabase } from '../../../src/prepare-database.ts'
import { errorMessage } from '../../support/error-message.ts'
import { CITUS_URL, cloneDatabase, type TestDatabase } from '../../support/postgres.ts'

const WORKSPACE = '0199c0de-0000-7000-8000-00000000ccc1'
const AT = new Date('2026-03-02T10:00:00Z')

async function fill(url: string): Promise<void> {
  await migrateDatabase(url, createLogger('silent'))
  const db = openDatabase(url)
  const times = { created_at: AT, updated_at: AT }
  await db('workspaces').insert({ id: WORKSPACE, name: 'Filled', ...times })
  await db('contacts').insert({ tenant_id: WORKSPACE, id: WORKSPACE, name: 'Ada', source: 'api', ...times })
  await db('tags').insert({ tenant_id: WORKSPACE, id: WORKSPACE, name: 'vip', color: '#000000', ...times })
  await db('contact_tags').insert({ tenant_id: WORKSPACE, contact_id: WORKSPACE, tag_id: WORKSPACE, created_at: AT })
  await closeDatabase(db)
}

describe('npm run distribute', function () {
  this.timeout(120_000)

  async function runOn(database: TestDatabase): Promise<string[]> {
    const lines: string[] = []
    const db = openDatabase(database.url, { connections: 1 })
    try {
      await distribute(db, { shards: 2, report: (line) => void lines.push(line) })
    } finally {
      await closeDatabase(db)
    }
    return lines
  }

  it('says what is missing on a server without Citus', async function () {
    if (CITUS_URL !== undefined) this.skip()
    const database = await cloneDatabase(async () => undefined)
    expect(await errorMessage(runOn(database))).to.match(/^The server has no Citus\. Install it/)
    await database.drop()
  })

  it('asks for the migrations first', async function () {
    if (CITUS_URL === undefined) this.skip()
    const database = await cloneDatabase(async () => undefined)
    expect(await errorMessage(runOn(database))).to.include('Execute npm run migrate first')
    await database.drop()
  })

  it('distributes a filled database, keeps its rows, and changes nothing when it is repeated', async function () {
    if (CITUS_URL === undefined) this.skip()
    // The template is filled before the test support distributes it.
    const database = await cloneDatabase(fill)
    const repeated = await runOn(database)
    expect(repeated.filter((line) => line.includes('already'))).to.have.length(
      TENANT_TABLES.length + REFERENCE_TABLES.length,
    )
    const db = openDatabase(database.url)
    const types = await db.raw<{ rows: { name: string; type: string }[] }>(
      'select table_name::text as name, citus_table_type as type from citus_tables',
    )
    const byType = (type: string) => types.rows.filter((row) => row.type === type).map(({ name }) => name)
    expect(byType('distributed')).to.have.members([...TENANT_TABLES])
    expect(byType('reference')).to.have.members([...REFERENCE_TABLES])
    const tags = await db('contact_tags')
      .join('tags', { 'tags.tenant_id': 'contact_tags.tenant_id', 'tags.id': 'contact_tags.tag_id' })
      .select('tags.name')
    expect(tags).to.deep.equal([{ name: 'vip' }])
    await closeDatabase(db)
    await database.drop()
  })
})
