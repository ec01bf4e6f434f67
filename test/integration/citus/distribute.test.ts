import { expect } from 'chai'
import { closeDatabase, type Database, openDatabase } from '../../../src/platform/database/database.ts'
import { distribute } from '../../../src/platform/database/distribute.ts'
import { REFERENCE_TABLES, TENANT_TABLES } from '../../../src/platform/database/statements/tables.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { errorMessage } from '../../support/error-message.ts'
import { CITUS_URL, cloneDatabase, type TestDatabase } from '../../support/postgres.ts'

const WORKSPACE = '0199c0de-0000-7000-8000-00000000ccc1'
const AT = new Date('2026-03-02T10:00:00Z')

async function skipMigrations(): Promise<void> {}

async function fill(url: string): Promise<void> {
  await migrate(url, createLogger('silent'))
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

  async function runOn(database: TestDatabase, onLine = (_line: string): void => {}): Promise<string[]> {
    const lines: string[] = []
    const report = (line: string) => {
      lines.push(line)
      onLine(line)
    }
    const db = openDatabase(database.url, { connections: 1, name: 'distribute' })
    try {
      await distribute(db, { shards: 2, report })
    } finally {
      await closeDatabase(db)
    }
    return lines
  }

  async function assertDistributed(database: TestDatabase): Promise<void> {
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
    // Rows that were copied to the nodes are not kept in the table of the coordinator itself.
    const copies = await db.raw<{ rows: { size: number }[] }>(`select pg_relation_size('contacts') as size`)
    expect(copies.rows).to.deep.equal([{ size: 0 }])
    await closeDatabase(db)
  }

  async function cutConnections(observer: Database): Promise<void> {
    await observer.raw(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'distribute' and datname = current_database()`,
    )
  }

  it('says what is missing on a server without Citus', async function () {
    if (CITUS_URL !== undefined) this.skip()
    const database = await cloneDatabase(skipMigrations)
    expect(await errorMessage(runOn(database))).to.match(/^The server has no Citus\. Install it/)
    await database.drop()
  })

  it('asks for the migrations first', async function () {
    if (CITUS_URL === undefined) this.skip()
    const database = await cloneDatabase(skipMigrations)
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
    await assertDistributed(database)
    await database.drop()
  })

  it('continues an interrupted call, whether its process or its connection ended', async function () {
    if (CITUS_URL === undefined) this.skip()
    const database = await cloneDatabase(skipMigrations)
    await fill(database.url)
    const end = new Error('The process ended')
    const endAt = (start: string) => (line: string) => {
      if (line.startsWith(start)) throw end
    }
    const observer = openDatabase(database.url)
    const cuts: Promise<void>[] = []
    const cutAt = (start: string) => (line: string) => {
      if (line.startsWith(start)) cuts.push(cutConnections(observer))
    }
    const tables = TENANT_TABLES.length + REFERENCE_TABLES.length
    expect(await errorMessage(runOn(database, endAt('3/')))).to.equal(end.message)
    // The connection is lost within a statement, or between two.
    await runOn(database, cutAt('20/')).catch(() => undefined)
    await Promise.all(cuts)
    // All tables are distributed, and the local copies of their rows are left.
    expect(await errorMessage(runOn(database, endAt(`${tables}/`)))).to.equal(end.message)
    expect(cuts).to.have.length(1)
    await runOn(database)
    await assertDistributed(database)
    await closeDatabase(observer)
    await database.drop()
  })
})
