import { expect } from 'chai'
import { DEMO, demoId } from '../../seeds/demo/ids.ts'
import { toReportSource } from '../../src/features/broadcasts/report/get-report.ts'
import { verifyReport } from '../../src/features/broadcasts/report/verify-report.ts'
import { type Database, openDatabase, seedIfEmpty, SEEDS } from '../../src/platform/database/database.ts'
import { MINUTE, systemClock } from '../../src/platform/time.ts'
import { startTestApp, type TestApp, type TestSession } from '../support/app.ts'
import { waitUntil } from '../support/wait-until.ts'

describe('demo workspace', () => {
  let app: TestApp
  let db: Database
  let session: TestSession

  before(async () => {
    app = await startTestApp({}, systemClock)
    db = openDatabase(app.databaseUrl)
    await seedIfEmpty(db)
    const { headers, body } = await app.rest('POST', '/api/auth/sign-in/email', {
      body: { email: DEMO.email, password: DEMO.password },
    })
    const cookie = headers.getSetCookie()[0]?.split(';')[0] ?? ''
    session = { cookie, tenantId: DEMO.workspaceId, userId: body.user.id, email: DEMO.email, password: DEMO.password }
  })

  after(async () => {
    await db.destroy()
    await app.stop()
  })

  async function read(path: string) {
    const { status, body } = await app.rest('GET', path, { session })
    expect(status, path).to.equal(200)
    return body
  }

  it('the demo runs end as completed, failed and waiting, newest first', async () => {
    const { items } = await read('/api/runs')
    expect(items.map((run: Record<string, unknown>) => [run['contactId'], run['workflowName'], run['status']])).to.eql([
      [demoId('contact', 2), 'Order status', 'waiting'],
      [demoId('contact', 11), 'Welcome', 'completed'],
      [demoId('contact', 1), 'Order status', 'completed'],
      [demoId('contact', 5), 'Order status', 'failed'],
      [demoId('contact', 16), 'Opt-out', 'completed'],
      [demoId('contact', 15), 'Welcome', 'completed'],
    ])
  })

  it("the demo conversation with Ana shows her messages and the workflow's replies in order", async () => {
    const { messages } = await read(`/api/conversations/${demoId('conversation', 1)}/messages`)
    expect(messages.map((message: Record<string, unknown>) => `${message['status']}: ${message['body']}`)).to.eql([
      'received: Oi, where is my order?',
      'delivered: What is your order number? It has four digits.',
      'received: 4711',
      'delivered: Order 4711 left our warehouse and arrives within two days.',
    ])
  })

  it('the demo conversation that the owner answered is paused for automation', async () => {
    const { automation } = await read(`/api/conversations/${demoId('conversation', 3)}`)
    expect(automation).to.include({ state: 'paused', reason: 'human_reply' })
  })

  it('the demo seed leaves no mailbox item, queued message or job', async () => {
    for (const table of ['mailbox_items', 'outbox', 'external_calls', 'wakeups']) {
      expect(await db(table).select(), table).to.eql([])
    }
  })

  it('the demo broadcasts are paused after their first messages and completed', async () => {
    const { items } = await read('/api/broadcasts')
    expect(items.map(({ id, name, status }: Record<string, unknown>) => ({ id, name, status }))).to.eql([
      { id: demoId('broadcast', 1), name: 'Spring sale', status: 'paused' },
      { id: demoId('broadcast', 2), name: 'Wholesale price list', status: 'completed' },
    ])
    expect(items[0].counts).to.include({ total: 10, skipped: 1, read: 1, delivered: 2, pending: 6 })
    expect(items[1].counts).to.include({ total: 5, read: 2, delivered: 3, pending: 0 })
  })

  it('the demo broadcast skips the contact who opted out in a workflow', async () => {
    const { items } = await read(`/api/broadcasts/${demoId('broadcast', 1)}/recipients?status=skipped`)
    expect(items).to.have.length(1)
    expect(items[0]).to.include({ contactId: demoId('contact', 16), skipReason: 'opted_out' })
    const consent = await read(`/api/contacts/${demoId('contact', 16)}/consent`)
    expect(consent).to.include({ marketing: 'opted_out' })
    expect(consent.items[0]).to.include({ source: 'workflow', state: 'opted_out' })
  })

  it('the rows of the demo broadcasts agree with their reports', async () => {
    for (const number of [1, 2]) {
      const { report, problems } = await verifyReport(toReportSource(db, DEMO.workspaceId), demoId('broadcast', number))
      expect(problems).to.eql([])
      expect(report.snapshot?.hash).to.match(/^[0-9a-f]{64}$/)
    }
  })

  it('the demo rows are dated in the past, in the order of their IDs', async () => {
    const rows = await db('messages').orderBy('conversation_id').orderBy('id').select('conversation_id', 'created_at')
    for (const [index, row] of rows.entries()) {
      const next = rows[index + 1]
      expect(row.created_at.getTime()).to.be.lessThan(Date.now() - 13 * MINUTE)
      if (next?.conversation_id === row.conversation_id) expect(next.created_at >= row.created_at).to.equal(true)
    }
  })

  it('seeding a database that contains the demo workspace changes nothing', async () => {
    await app.rest('PATCH', `/api/contacts/${demoId('contact', 1)}`, { session, body: { name: 'Ana Maria' } })
    const before = await db('events').count()
    await db.seed.run(SEEDS)
    expect(await db('events').count()).to.eql(before)
    const { name } = await read(`/api/contacts/${demoId('contact', 1)}`)
    expect(name).to.equal('Ana Maria')
  })

  it('a demo broadcast that is resumed is completed', async () => {
    const path = `/api/broadcasts/${demoId('broadcast', 1)}`
    expect((await app.rest('POST', `${path}/resume`, { session, body: {} })).status).to.equal(200)
    await waitUntil(async () => (await read(path)).status === 'completed')
    expect((await read(path)).counts).to.include({ total: 10, skipped: 1, accepted: 9 })
  })
})
