import { expect } from 'chai'
import { closeDatabase, type Database, openDatabase } from '../../../src/platform/database/database.ts'
import { distribute } from '../../../src/platform/database/distribute.ts'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { LOCAL_TABLES } from '../../../src/platform/database/statements/tables.ts'
import { newId } from '../../../src/platform/ids.ts'
import { findRuleViolations, listExamples, migrateToBaseline } from '../../support/migration-rules.ts'
import { CITUS_URL, cloneDatabase, type TestDatabase } from '../../support/postgres.ts'

const WORKSPACE = '0199c0de-0000-7000-8000-00000000ccc2'
const CONTACT = '0199c0de-0000-7000-8000-00000000ccc3'

describe('migrations of a distributed database', function () {
  this.timeout(120_000)
  let database: TestDatabase
  let db: Database

  before(async function () {
    if (CITUS_URL === undefined) this.skip()
    database = await cloneDatabase(migrateToBaseline)
    db = openDatabase(database.url)
    await db('workspaces').insert({ id: WORKSPACE, name: 'Filled' })
    await db('contacts').insert({ tenant_id: WORKSPACE, id: CONTACT, name: 'Ada', username: 'ada' })
  })

  after(async () => {
    if (CITUS_URL === undefined) return
    await closeDatabase(db)
    await database.drop()
  })

  async function listUndistributed(): Promise<string[]> {
    const { rows } = await db.raw<{ rows: { name: string }[] }>(
      `select relname as name from pg_class join pg_attribute on attrelid = pg_class.oid and attname = 'tenant_id'
       where relkind = 'r' and relnamespace = 'public'::regnamespace
         and pg_class.oid not in (select table_name::oid from citus_tables)`,
    )
    const local: readonly string[] = LOCAL_TABLES
    return rows.map(({ name }) => name).filter((name) => !local.includes(name))
  }

  it('are those after the first release, and leave no table of tenants that is not distributed', async () => {
    await migrate(database.url)
    expect(await listUndistributed()).to.deep.equal([])
    for (const { name, migration } of await listExamples()) {
      expect(await findRuleViolations(db, migration), name).to.deep.equal([])
      expect(await listUndistributed(), name).to.deep.equal([])
    }
    await db.raw('create table notes (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id))')
    expect(await listUndistributed()).to.deep.equal(['notes'])
    await db.raw('drop table notes')
  })

  it('change rows on the nodes', async () => {
    const contact = await db('contacts').where({ tenant_id: WORKSPACE, id: CONTACT }).first('nickname')
    expect(contact).to.deep.equal({ nickname: 'ada' })
  })

  it('create tables whose rows are joined with others of their tenant, and deleted with them', async () => {
    await db('marks').insert({ tenant_id: WORKSPACE, id: newId(), contact_id: CONTACT, created_at: new Date() })
    const marked = await db('marks')
      .join('contacts', { 'contacts.tenant_id': 'marks.tenant_id', 'contacts.id': 'marks.contact_id' })
      .where('marks.tenant_id', WORKSPACE)
      .select('contacts.name')
    expect(marked).to.deep.equal([{ name: 'Ada' }])
    await db('contacts').where({ tenant_id: WORKSPACE, id: CONTACT }).delete()
    expect(await db('marks').where('tenant_id', WORKSPACE)).to.deep.equal([])
  })

  it('leave nothing to distribute', async () => {
    const single = openDatabase(database.url, { connections: 1 })
    const lines: string[] = []
    await distribute(single, { shards: 2, report: (line) => lines.push(line) })
    expect(lines.filter((line) => /^\d+\//.test(line) && !line.includes('already'))).to.deep.equal([])
    await closeDatabase(single)
  })
})
