import { expect } from 'chai'
import type { Knex } from 'knex'
import { closeDatabase, type Database, openDatabase } from '../../../src/platform/database/database.ts'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { distribute } from '../../../src/platform/database/distribution/distribute.ts'
import { distributeIfMigrated } from '../../support/citus.ts'
import { migrateToBaseline } from '../../support/migration-rules.ts'
import { CITUS_URL, cloneDatabase, type TestDatabase } from '../../support/postgres.ts'

const WORKSPACE = '0199c0de-0000-7000-8000-00000000ccc2'
const CONTACT = '0199c0de-0000-7000-8000-00000000ccc3'

/** Creates a tenant table as CONTRIBUTING.md says. */
async function createTenantTable(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table marks (
      tenant_id uuid not null,
      id uuid not null,
      contact_id uuid not null,
      created_at timestamptz not null,
      primary key (tenant_id, id)
    );
    create index marks_tenant_id_contact_id_idx on marks (tenant_id, contact_id);
    do $$ begin
      if to_regclass('citus_tables') is not null then
        set local citus.multi_shard_modify_mode = 'sequential';
        perform create_distributed_table('marks', 'tenant_id', colocate_with => 'contacts')
          from citus_tables where table_name = 'contacts'::regclass;
      end if;
    end $$;
    alter table marks add foreign key (tenant_id) references workspaces (id) on delete cascade;
    alter table marks add foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade;
  `)
}

describe('migrations of a distributed database', function () {
  this.timeout(120_000)
  let database: TestDatabase
  let db: Database

  before(async function () {
    if (CITUS_URL === undefined) this.skip()
    database = await cloneDatabase(migrateToBaseline)
    db = openDatabase(database.url)
    const at = new Date('2026-03-02T10:00:00Z')
    const times = { created_at: at, updated_at: at }
    await db('workspaces').insert({ id: WORKSPACE, name: 'Filled', ...times })
    await db('contacts').insert({
      tenant_id: WORKSPACE,
      id: CONTACT,
      name: 'Ada',
      phone: 'ext. 12',
      source: 'api',
      ...times,
    })
  })

  after(async () => {
    if (CITUS_URL === undefined) return
    await closeDatabase(db)
    await database.drop()
  })

  async function readTypes(): Promise<Map<string, string>> {
    const { rows } = await db.raw<{ rows: { name: string; type: string }[] }>(
      'select table_name::text as name, citus_table_type as type from citus_tables',
    )
    return new Map(rows.map(({ name, type }) => [name, type]))
  }

  it('are those after the first release, and leave no table that is not distributed', async () => {
    await migrate(database.url)
    const before = await readTypes()
    await distributeIfMigrated(database.url)
    expect(await readTypes()).to.deep.equal(before)
  })

  it('change rows on the nodes', async () => {
    const contact = await db('contacts').where({ tenant_id: WORKSPACE, id: CONTACT }).first('phone', 'fields')
    expect(contact).to.deep.equal({ phone: null, fields: { phone: 'ext. 12' } })
  })

  it('may create a tenant table, which is distributed before it gets foreign keys', async () => {
    await db.transaction((tx) => createTenantTable(tx))
    expect((await readTypes()).get('marks')).to.equal('distributed')
    const mark = { tenant_id: WORKSPACE, id: CONTACT, contact_id: CONTACT, created_at: new Date() }
    await db('marks').insert(mark)
    const marked = await db('marks')
      .join('contacts', { 'contacts.tenant_id': 'marks.tenant_id', 'contacts.id': 'marks.contact_id' })
      .where('marks.tenant_id', WORKSPACE)
      .select('contacts.name')
    expect(marked).to.deep.equal([{ name: 'Ada' }])
    await db('contacts').where({ tenant_id: WORKSPACE, id: CONTACT }).delete()
    expect(await db('marks').where('tenant_id', WORKSPACE)).to.deep.equal([])
    await distributeAgain()
  })

  it('may add columns, indexes and constraints as the rules for migrations say', async () => {
    await db.transaction((tx) => tx.raw(`alter table contacts add column nickname text not null default 'none'`))
    await db.raw('create index concurrently contacts_nickname_idx on contacts (tenant_id, nickname)')
    const constraint = 'add constraint nickname_is_short check (length(nickname) < 100) not valid'
    await db.transaction((tx) => tx.raw(`alter table contacts ${constraint}`))
    await db.transaction((tx) => tx.raw('alter table contacts validate constraint nickname_is_short'))
    const row = { name: 'Eve', source: 'api', created_at: new Date(), updated_at: new Date() }
    await db('contacts').insert({ tenant_id: WORKSPACE, id: CONTACT, ...row })
    const contact: unknown = await db('contacts').where({ tenant_id: WORKSPACE, id: CONTACT }).first('nickname')
    expect(contact).to.deep.equal({ nickname: 'none' })
  })

  async function distributeAgain(): Promise<void> {
    const single = openDatabase(database.url, { connections: 1 })
    const before = await readTypes()
    await distribute(single, { shards: 2, report: () => undefined })
    expect(await readTypes()).to.deep.equal(before)
    await closeDatabase(single)
  }
})
