import { expect } from 'chai'
import { type Answer, startTestApp, type TestApp, type TestSession } from '../../support/app.ts'

const NOBODYS = '0199c0de-ffff-7000-8000-000000000000'

describe('POST /api/events', () => {
  let app: TestApp
  let session: TestSession
  let contactId: string
  let workflowId: string

  before(async () => {
    app = await startTestApp()
  })

  after(() => app.stop())

  beforeEach(async () => {
    session = await app.signUp()
    const { body } = await app.rest('POST', '/api/contacts', { session, body: { name: 'Ana', phone: '+14155550100' } })
    contactId = body.id
    workflowId = await publish({
      triggers: [{ type: 'event', event: 'order.paid', if: { left: '{{trigger.data.total}}', op: 'gte', right: 100 } }],
      variables: { total: { type: 'number' } },
      steps: [{ id: 'keep', type: 'set', values: { total: '{{trigger.data.total}}' } }],
    })
  })

  async function publish(definition: object): Promise<string> {
    const { body } = await app.rest('POST', '/api/workflows', {
      session,
      body: { name: 'Paid', definition: { version: 1, ...definition } },
    })
    const answer = await app.rest('POST', `/api/workflows/${body.id}/publish`, { session, body: {} })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return body.id
  }

  function raise(body: object, headers: Record<string, string> = {}, as = session): Promise<Answer> {
    return app.rest('POST', '/api/events', { session: as, body, headers })
  }

  async function runs(): Promise<Record<string, unknown>[]> {
    await app.work()
    return (await app.rest('GET', '/api/runs', { session })).body.items
  }

  it('starts what has a trigger for the event, with its data', async () => {
    const answer = await raise({ contactId, event: 'order.paid', data: { total: 120 } })
    expect(answer.status).to.equal(202)
    expect(answer.body).to.deep.equal({ contactId, event: 'order.paid', raisedAt: app.clock.now().toISOString() })
    const [run, ...others] = await runs()
    expect(others).to.deep.equal([])
    expect(run).to.deep.include({ workflowId, contactId, status: 'completed', variables: { total: 120 } })
  })

  it('starts nothing that listens for another event, or whose condition is not met', async () => {
    await raise({ contactId, event: 'order.sent', data: { total: 120 } })
    await raise({ contactId, event: 'order.paid', data: { total: 99 } })
    await raise({ contactId, event: 'order.paid' })
    expect(await runs()).to.deep.equal([])
  })

  it('wakes what waits for the event', async () => {
    await publish({
      triggers: [{ type: 'event', event: 'order.placed' }],
      steps: [{ id: 'payment', type: 'wait_for_event', event: 'order.paid', timeout: '1d' }],
    })
    await raise({ contactId, event: 'order.placed' })
    expect((await runs()).map(({ status }) => status)).to.deep.equal(['waiting'])
    await raise({ contactId, event: 'order.paid' })
    expect((await runs()).map(({ status }) => status)).to.deep.equal(['completed'])
  })

  it('raises once for one Idempotency-Key', async () => {
    const event = { contactId, event: 'order.paid', data: { total: 120 } }
    for (let time = 0; time < 2; time += 1) {
      const { status } = await raise(event, { 'idempotency-key': 'payment-1' })
      expect(status).to.equal(202)
    }
    expect(await runs()).to.have.length(1)
    await raise(event, { 'idempotency-key': 'payment-2' })
    expect(await runs()).to.have.length(2)
  })

  it('knows the contact however its id is spelled', async () => {
    await raise({ contactId: contactId.toUpperCase(), event: 'order.paid', data: { total: 120 } })
    expect(await runs()).to.have.length(1)
  })

  it('is for those who talk with customers', async () => {
    const agent = await app.join(session.tenantId, 'agent')
    const viewer = await app.join(session.tenantId, 'viewer')
    expect((await raise({ contactId, event: 'order.paid' }, {}, agent)).status).to.equal(202)
    expect((await raise({ contactId, event: 'order.paid' }, {}, viewer)).status).to.equal(403)
  })

  it('refuses a contact that is not there, a name that is none, and data that is no object', async () => {
    const refused: [body: object, status: number, code: string][] = [
      [{ contactId: NOBODYS, event: 'order.paid' }, 404, 'not_found'],
      [{ contactId, event: 'Order Paid' }, 400, 'validation_failed'],
      [{ contactId, event: `a${'b'.repeat(64)}` }, 400, 'validation_failed'],
      [{ contactId, event: 'order.paid', data: 'all of it' }, 400, 'validation_failed'],
      [{ contactId, event: 'order.paid', when: 'now' }, 400, 'validation_failed'],
      [{ event: 'order.paid' }, 400, 'validation_failed'],
    ]
    for (const [body, status, code] of refused) {
      const answer = await raise(body)
      expect(answer.status, JSON.stringify(body)).to.equal(status)
      expect(answer.body.code).to.equal(code)
    }
    expect(await runs()).to.deep.equal([])
  })
})
