import { expect } from 'chai'
import { closeDatabase, openDatabase } from '../../../src/platform/database/database.ts'
import { withClient } from '../../../src/platform/embedded-postgres/connection.ts'
import { SECOND, systemClock } from '../../../src/platform/time.ts'
import { buildContact, buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { BlockedReads } from '../../support/blocked-reads.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { errorMessage } from '../../support/error-message.ts'
import { isPgbouncerMissing, POOL_SIZE, TestPgbouncer } from '../../support/pgbouncer.ts'
import { say } from '../../support/steps.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('DATABASE_URL of PgBouncer in transaction mode, with DATABASE_SESSION_URL', function () {
  this.timeout(120_000)
  let app: TestApp
  let pgbouncer: TestPgbouncer

  before(async function () {
    if (isPgbouncerMissing()) this.skip()
    app = await startTestApp(async (databaseUrl) => {
      pgbouncer = await TestPgbouncer.start(databaseUrl)
      return {
        DATABASE_URL: pgbouncer.through(databaseUrl),
        DATABASE_SESSION_URL: databaseUrl,
        DB_REQUESTS_STATEMENT_TIMEOUT_MS: '8000',
        DB_REQUESTS_ACQUIRE_TIMEOUT_MS: '30000',
      }
    }, systemClock)
  })

  after(async () => {
    await app?.stop()
    await pgbouncer?.stop()
  })

  it('answers messages and tells followers of them, for more clients than the server has sessions', async () => {
    const workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { steps: [say('answer', 'Hi')] })
    const stream = await openEventStream<{ event?: { type: string } }>(app.url, workspace, {
      procedure: 'events.follow',
      input: {},
    })
    await Promise.all(Array.from({ length: 3 * POOL_SIZE }, () => sendAsCustomer(workspace)))
    await stream.until(({ event }) => event?.type === 'message.received')
    stream.close()
    const answers = app.system.db('messages').where({ tenant_id: workspace.tenantId, direction: 'outbound' })
    await waitUntil(async () => (await answers.clone()).length === 3 * POOL_SIZE)
    await withClient(app.databaseUrl, async (client) => {
      const { rows } = await client.query<{ name: string }>(
        `select application_name as name from pg_stat_activity where datname = current_database()
           and pid <> pg_backend_pid() and application_name not in ('tests', 'parley notifications')`,
      )
      expect(rows.length).to.be.within(1, POOL_SIZE)
    })
  })

  it('leaves no settings in the sessions of the server, and gives transactions their timeouts', async () => {
    const read = `select current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as idle`
    const db = openDatabase(pgbouncer.through(app.databaseUrl), { isPooled: true })
    const inTransaction = await db.transaction(async (tx) => (await tx.raw<{ rows: object[] }>(read)).rows)
    expect(inTransaction).to.deep.equal([{ statement: '30s', idle: '8s' }])
    for (let round = 0; round < POOL_SIZE; round += 1) {
      const { rows } = await db.raw<{ rows: object[] }>(read)
      expect(rows).to.deep.equal([{ statement: '0', idle: '0' }])
    }
    await closeDatabase(db)
  })

  it('cancels a statement that exceeds its time', async () => {
    const workspace = await buildWorkspace(app)
    const { id } = await buildContact(workspace, { phone: newPhone() })
    const reads = await BlockedReads.start(app.databaseUrl, workspace.tenantId)
    const startedAt = performance.now()
    const { status } = await workspace.request('GET', `/api/contacts/${id}`)
    expect(status).to.equal(503)
    expect(performance.now() - startedAt).to.be.below(20 * SECOND)
    await withClient(app.databaseUrl, async (client) => {
      const active = `select from pg_stat_activity where application_name = 'parley requests' and state = 'active'`
      await waitUntil(async () => (await client.query(active)).rows.length === 0)
    })
    await reads.release()
  })

  it('names the setting that is missing when only DATABASE_URL is set', async () => {
    const started = startTestApp(async (databaseUrl) => ({ DATABASE_URL: pgbouncer.through(databaseUrl) }))
    expect(await errorMessage(started)).to.match(
      /^DATABASE_URL: the server at 127\.0\.0\.1:\d+ is a connection pooler\. Set DATABASE_SESSION_URL to the address/,
    )
  })
})
