import { expect } from 'chai'
import { type Database, openDatabase } from '../../../src/platform/database/database.ts'
import { findRuleViolations, listLaterMigrations, migrateToBaseline } from '../../support/migration-rules.ts'
import { newId } from '../../../src/platform/ids.ts'
import { cloneDatabase, type TestDatabase } from '../../support/postgres.ts'

const MARKS = '20991231000000_create_marks'
const RECOUNT = '20991231000005_recount_marks'

describe('migrations after the first release', () => {
  let database: TestDatabase
  let db: Database

  beforeEach(async () => {
    database = await cloneDatabase(migrateToBaseline)
    db = openDatabase(database.url)
  })

  afterEach(async () => {
    await db.destroy()
    await database.drop()
  })

  it('can be applied while the previous version works: expand first, contract in a later release', async () => {
    const migrations = await listLaterMigrations()
    expect(migrations.map(({ name }) => name)).to.include.members([MARKS, RECOUNT])
    for (const { name, migration } of migrations)
      expect(await findRuleViolations(db, migration), name).to.deep.equal([])
  })

  it('count the rows of a new kept number, also those that are written between two of them', async () => {
    const tenantId = newId()
    await db('workspaces').insert({ id: tenantId, name: 'W' })
    await db('contacts').insert({ tenant_id: tenantId, id: tenantId, name: 'Ada', username: 'ada' })
    let marks = 0
    for (const { name, migration } of await listLaterMigrations()) {
      await findRuleViolations(db, migration)
      if (name < MARKS) continue
      await db('marks').insert({ tenant_id: tenantId, id: newId(), contact_id: tenantId, created_at: new Date() })
      marks += 1
    }
    expect(await db('contacts').where('tenant_id', tenantId).first('nickname')).to.deep.equal({ nickname: 'ada' })
    const { rows } = await db.raw<{ rows: unknown[] }>(
      `select (select count(*) from marks)::int as rows, (
         select sum(n)::int from (
           select count as n from kept_counts where counter = 'marks'
           union all select delta from kept_count_deltas where counter = 'marks') kept) as kept`,
    )
    expect(rows).to.deep.equal([{ rows: marks, kept: marks }])
  })

  const check = (sql: string, options: { transaction?: boolean; contracts?: string; recountedBy?: string } = {}) =>
    findRuleViolations(db, {
      up: async (knex) => knex.raw(sql),
      ...(options.transaction === undefined ? {} : { config: { transaction: options.transaction } }),
      ...(options.contracts === undefined ? {} : { contracts: options.contracts }),
      ...(options.recountedBy === undefined ? {} : { recountedBy: options.recountedBy }),
    })

  for (const [title, sql] of [
    ['a new table with keys and indexes', 'create table marks (id uuid primary key); create index on marks (id)'],
    ['a column that may be null', 'alter table contacts add column nickname text'],
    [
      'a required column with a constant default',
      `alter table contacts add column nickname text not null default 'none'`,
    ],
    [
      'a constraint that is validated later',
      'alter table contacts add constraint short check (length(name) < 1000) not valid',
    ],
  ] as const) {
    it(`may add ${title}`, async () => expect(await check(sql)).to.deep.equal([]))
  }

  it('may create an index concurrently, outside of a transaction', async () => {
    const sql = 'create index concurrently contacts_name_idx on contacts (name)'
    expect(await check(sql, { transaction: false })).to.deep.equal([])
  })

  it('may add a kept number, and name the migration that counts the rows from before', async () => {
    const sql = 'create table mark_counts (tenant_id uuid primary key, count bigint not null)'
    expect(await check(sql, { recountedBy: RECOUNT })).to.deep.equal([])
    expect(await check(`${sql.replace('mark', 'star')}`)).to.deep.equal([
      'a kept number is added without "recountedBy", the migration that counts the rows',
    ])
    expect(await check(sql.replace('mark', 'dot'), { recountedBy: 'none' })).to.deep.equal([
      'recountedBy names none, which is no migration',
    ])
  })

  it('may drop what the previous version does not use, and state why', async () => {
    const sql = 'alter table contacts drop column email'
    expect(await check(sql, { contracts: 'no version since 0.2 reads contacts.email' })).to.deep.equal([])
  })

  for (const [title, sql, violation] of [
    [
      'create an index on a table in use without "concurrently"',
      'create index contacts_name_idx on contacts (name)',
      'an index on contacts is not created concurrently',
    ],
    [
      'add a required column without a default',
      'alter table contacts add column nickname text not null',
      'column contacts.nickname requires a value that the previous version does not write',
    ],
    [
      'make a column required',
      'alter table contacts alter column name set not null, alter column email set not null',
      '"set not null" scans contacts under an exclusive lock',
    ],
    [
      'add a foreign key that is validated at once',
      'create table marks (id uuid primary key); alter table contacts add column mark uuid, add foreign key (mark) references marks',
      'a constraint is added to contacts without "not valid"',
    ],
    [
      'add and validate a constraint in one transaction',
      `alter table contacts add constraint short check (length(name) < 1000) not valid;
       alter table contacts validate constraint short`,
      'a constraint is added and validated in one transaction',
    ],
    [
      'rename a column',
      'alter table contacts rename column name to full_name',
      'column contacts.name is renamed or dropped',
    ],
    ['rename a table', 'alter table contacts rename to people', 'table contacts is renamed or dropped'],
    ['drop a column', 'alter table contacts drop column email', 'column contacts.email is renamed or dropped'],
    ['drop a table', 'drop table tags cascade', 'table tags is renamed or dropped'],
    [
      'change the type of a column so that the table is rewritten',
      'alter table contacts alter column consent_at type text',
      'table contacts is rewritten under an exclusive lock',
    ],
    [
      'add a column with a volatile default',
      'alter table contacts add column token uuid default gen_random_uuid()',
      'table contacts is rewritten under an exclusive lock',
    ],
  ] as const) {
    it(`must not ${title}`, async () => expect(await check(sql)).to.include(violation))
  }
})
