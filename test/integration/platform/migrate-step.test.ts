import { expect } from 'chai'
import { migrate as runMigrations } from '../../../src/platform/database/migrate.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { errorMessage } from '../../support/error-message.ts'
import { Checkout } from '../../support/checkout.ts'
import { findUrl, isReady, Owner, stopServer } from '../../support/deployment.ts'
import { withClient } from '../../../src/platform/embedded-postgres/connection.ts'
import { cloneDatabase, type TestDatabase } from '../../support/postgres.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { waitUntil } from '../../support/wait-until.ts'

const START = ['--import', 'tsx', 'src/main.ts']
const LATER = '20991231000000_add_nickname_to_contacts'

function hasAppliedMigrations(url: string): Promise<boolean> {
  return withClient(url, async (client) => {
    const { rows } = await client.query(`select from pg_class where relname = 'contacts'`)
    return rows.length > 0
  })
}

describe('npm run migrate', function () {
  this.timeout(300_000)
  let current: Checkout
  let next: Checkout
  let database: TestDatabase
  let env: Record<string, string>

  before(() => {
    current = new Checkout('current')
    next = new Checkout('next')
    next.addMigration(LATER, ['alter table contacts add column nickname text'])
  })

  after(async () => {
    await current.remove()
    await next.remove()
  })

  beforeEach(async () => {
    database = await cloneDatabase(() => Promise.resolve())
    env = { DATABASE_URL: database.url, SECRET_KEY: 'ab'.repeat(32), LOG_FORMAT: 'json' }
  })

  afterEach(() => database.drop())

  async function migrate(checkout: Checkout): Promise<string> {
    const { code, stdout, stderr } = await checkout.run('npm', ['run', '--silent', 'migrate'], env)
    expect(code, stdout + stderr).to.equal(0)
    return stdout
  }

  it('prepares a database on which every start otherwise fails with the command to run', async () => {
    const { code, stderr } = await current.run('node', START, env)
    expect(code).to.equal(1)
    expect(stderr).to.match(
      /^DATABASE_URL: the database lacks \d+ migrations of this version, from \w+ on\. Run "npm run migrate"[^\n]*\n$/,
    )
    expect(await migrate(current)).to.match(/^(applied \d{14}_\w+\n)+All migrations are applied\.\n$/)
    expect(await migrate(current)).to.equal('All migrations were applied before.\n')
    const server = await current.serve('node', START, env)
    expect(await isReady(server)).to.equal(true)
    await stopServer(server)
  })

  it('refuses a database that other migrations have created, as the start does, and leaves it as it is', async () => {
    await withClient(database.url, (client) =>
      client.query(`
        create table users (id uuid primary key);
        create table migrations (id serial primary key, name text, batch integer, migration_time timestamptz);
        insert into migrations (name, batch) values ('20250101000000_create_users', 1), ('20250101000001_create_teams', 2)
      `),
    )
    for (const [file, args, settings] of [
      ['npm', ['run', '--silent', 'migrate'], {}],
      ['node', START, {}],
      ['node', START, { MIGRATE_ON_START: 'true' }],
    ] as const) {
      const { code, stderr } = await current.run(file, [...args], { ...env, ...settings })
      expect(stderr).to.equal(
        'DATABASE_URL: the database was created by the migrations of another version, from 20250101000000_create_users on, and this version cannot upgrade it. Start that version, or use an empty database: another one in DATABASE_URL, or another DATA_DIR\n',
      )
      expect(code).to.equal(1)
    }
    const tables = await withClient(database.url, (client) =>
      client.query(`select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`),
    )
    expect(tables.rows.map(({ relname }) => relname)).to.have.members(['users', 'migrations'])
  })

  it('waits a quarter of a minute for a process that fell silent while it migrated, and no longer', async () => {
    await runMigrations(database.url)
    const proxy = await TcpProxy.start(database.url)
    const first = await withClient(database.url, async (client) => {
      await client.query('begin')
      await client.query('lock table migrations')
      const migration = runMigrations(proxy.through(database.url)).catch(() => undefined)
      await waitUntil(async () => {
        const { rows } = await client.query(
          `select from pg_locks where relation = 'migrations'::regclass and not granted`,
        )
        return rows.length > 0
      })
      proxy.partition()
      await client.query('commit')
      return { migration }
    })
    expect(await runMigrations(database.url)).to.deep.equal([])
    proxy.stop()
    expect(await first.migration).to.equal(undefined)
  })

  it('fails when its connections fall silent, instead of waiting for ever', async () => {
    const proxy = await TcpProxy.start(database.url)
    const migration = errorMessage(runMigrations(proxy.through(database.url)))
    await waitUntil(() => hasAppliedMigrations(database.url))
    proxy.partition()
    expect(await migration).to.match(/Connection terminated|connection error/)
    proxy.stop()
  })

  it('is done by the start with MIGRATE_ON_START=true', async () => {
    const server = await current.serve('node', START, { ...env, MIGRATE_ON_START: 'true' })
    expect(await isReady(server)).to.equal(true)
    await stopServer(server)
  })

  it('is done by one of two processes, while the other waits', async () => {
    const outputs = await Promise.all([migrate(current), migrate(current)])
    expect(outputs.filter((output) => output.includes('All migrations were applied before.\n'))).to.have.lengthOf(1)
  })

  it('ignores the statement timeout of the database', async () => {
    await migrate(current)
    await withClient(database.url, (client) => client.query('alter role current_user set statement_timeout = 200'))
    try {
      const slow = new Checkout('slow')
      slow.addMigration('20991231000001_wait', ['select pg_sleep(0.6)'])
      expect(await migrate(slow)).to.include('applied 20991231000001_wait')
      await slow.remove()
    } finally {
      await withClient(database.url, (client) => client.query('alter role current_user reset statement_timeout'))
    }
  })

  it('creates an index concurrently, for which no statement of its own may hold a snapshot', async () => {
    await migrate(current)
    const concurrent = new Checkout('concurrent')
    const name = '20991231000002_index_name'
    const statements = ['set lock_timeout = 0', 'create index concurrently contacts_name_idx on contacts (name)']
    concurrent.addMigration(name, statements, { isInTransaction: false })
    expect(await migrate(concurrent)).to.include(`applied ${name}`)
    await concurrent.remove()
  })

  it('waits for a locked table in short attempts, between which other statements use the table', async () => {
    await migrate(current)
    await withClient(database.url, async (holder) => {
      await holder.query('begin; lock table contacts in access share mode')
      const running = next.start('npm', ['run', '--silent', 'migrate'], env)
      await waitUntil(() => running.output.stdout.includes('could not lock a table'), 60 * SECOND)
      await withClient(database.url, async (reader) => {
        await reader.query('set statement_timeout = 5000')
        for (let round = 0; round < 3; round += 1) await reader.query('select from contacts')
      })
      await holder.query('commit')
      const { code, stdout, stderr } = await running.ended
      expect(code, stdout + stderr).to.equal(0)
      expect(stdout).to.include(`applied ${LATER}`)
    })
  })

  it('leaves processes of the older version ready, and lets them start again beside the newer one', async () => {
    await migrate(current)
    let older = await current.serve('node', START, env)
    await migrate(next)
    const newer = await next.serve('node', START, env)
    expect([await isReady(older), await isReady(newer)]).to.deep.equal([true, true])
    await stopServer(older)
    older = await current.serve('node', START, env)
    expect(older.output.stdout).to.include(`"migrations":["${LATER}"]`)
    expect(await isReady(older)).to.equal(true)
    const owner = await Owner.signUp(findUrl(older), 'ada@parley.example')
    await owner.publishAnswer(findUrl(newer), 'Hi')
    await owner.writeAndWait(findUrl(older), '+4917012000001')
    await owner.writeAndWait(findUrl(newer), '+4917012000002')
    await Promise.all([stopServer(older), stopServer(newer)])
  })
})
