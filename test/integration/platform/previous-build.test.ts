import { expect } from 'chai'
import { Checkout, hasCommit } from '../../support/checkout.ts'
import { withClient } from '../../../src/platform/embedded-postgres/connection.ts'
import { MINUTE } from '../../../src/platform/time.ts'
import { findUrl, isReady, Owner, type Server, stopServer } from '../../support/deployment.ts'
import { cloneDatabase, type TestDatabase } from '../../support/postgres.ts'
import { Traffic } from '../../support/traffic.ts'
import { waitUntil } from '../../support/wait-until.ts'

const START = ['--import', 'tsx', 'src/main.ts']
/** PREVIOUS_BUILD names another commit, such as that of the last release. */
const PREVIOUS = process.env['PREVIOUS_BUILD'] ?? 'HEAD~1'
/** Few enough messages that no rate limit is reached while a slow machine applies migrations. */
const PAUSE_MS = 600
const COLUMN = '20991231000000_add_nickname_to_contacts'
const INDEX = '20991231000001_index_nickname'

/** Adds what the rules of migrations allow, so that the builds differ in their migrations whatever the commit contains. */
function addMigrations(checkout: Checkout): void {
  checkout.addMigration(COLUMN, [
    `alter table contacts add column nickname text not null default '',
       add constraint contacts_nickname_check check (length(nickname) < 100) not valid`,
  ])
  checkout.addMigration(
    INDEX,
    [
      'set lock_timeout = 0',
      'drop index concurrently if exists contacts_tenant_id_nickname_idx',
      'create index concurrently contacts_tenant_id_nickname_idx on contacts (tenant_id, nickname)',
    ],
    { isInTransaction: false },
  )
}

describe('the build of the previous commit', function () {
  this.timeout(10 * MINUTE)
  let previous: Checkout | undefined
  let current: Checkout | undefined
  let database: TestDatabase | undefined
  const traffic: Traffic[] = []

  before(async () => {
    database = await cloneDatabase(() => Promise.resolve())
  })

  after(async () => {
    await Promise.all(traffic.map((each) => each.stop()))
    await previous?.remove()
    await current?.remove()
    await database?.drop()
  })

  function start(owner: Owner, ...servers: Server[]): Traffic {
    const options = { firstPhone: traffic.length * 100_000, pauseMs: PAUSE_MS }
    const started = new Traffic(servers.map(findUrl), owner, options)
    traffic.push(started)
    started.start()
    return started
  }

  const title = 'answers all messages while this one migrates the database and works beside it, and can start again'
  if (!hasCommit(PREVIOUS)) it.skip(`${title} (not run: the previous commit is not in this clone)`)
  else
    it(title, async () => {
      previous = new Checkout('previous', { commit: PREVIOUS })
      current = new Checkout('current')
      addMigrations(current)
      const url = database?.url ?? ''
      const env = { DATABASE_URL: url, SECRET_KEY: 'ab'.repeat(32), LOG_FORMAT: 'json' }
      const migrate = async (checkout: Checkout) => {
        const { code, stdout, stderr } = await checkout.run('npm', ['run', '--silent', 'migrate'], env)
        expect(code, stdout + stderr).to.equal(0)
        return stdout
      }
      await migrate(previous)
      let older = await previous.serve('node', START, env)
      const owner = await Owner.signUp(findUrl(older), 'ada@parley.example')
      await owner.publishAnswer(findUrl(older), 'Hi')

      const duringMigration = start(owner, older)
      await waitUntil(() => duringMigration.acknowledged.length >= 5)
      expect(await migrate(current))
        .to.include(COLUMN)
        .and.to.include(INDEX)
      await duringMigration.stop()
      const newer = await current.serve('node', START, env)
      expect([await isReady(older), await isReady(newer)]).to.deep.equal([true, true])
      const toBoth = start(owner, older, newer)
      await waitUntil(() => toBoth.acknowledged.length >= 40)
      await toBoth.stop()
      await toBoth.findProblems(url)
      const lists = ['contacts', 'conversations', 'runs', 'broadcasts']
      const totals = lists.map((list) => owner.call<{ total: number }>(findUrl(newer), 'GET', `/api/${list}`))
      const rows = lists.map((list) => `(select count(*)::int as total from ${list})`).join(' union all ')
      const counted = await withClient(url, (client) => client.query<{ total: number }>(rows))
      expect((await Promise.all(totals)).map(({ total }) => ({ total }))).to.deep.equal(counted.rows)
      await stopServer(older)
      older = await previous.serve('node', START, env)
      expect(await isReady(older)).to.equal(true)
      await stopServer(newer)
      const afterRestart = start(owner, older)
      await waitUntil(() => afterRestart.acknowledged.length >= 4)
      await afterRestart.stop()
      for (const each of traffic) {
        expect(each.failures.slice(0, 5)).to.deep.equal([])
        expect(await each.findProblems(url)).to.deep.equal({ lost: [], notAnsweredOnce: [] })
      }
      await stopServer(older)
    })
})
