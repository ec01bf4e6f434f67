import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'

const HELLO = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'contains', values: ['hello'] } }],
  steps: [
    {
      id: 'which',
      type: 'branch',
      cases: [{ if: { left: '{{message.body}}', op: 'contains', right: 'hello' }, next: 'tag' }],
      else: 'end',
    },
    { id: 'tag', type: 'add_tag', tags: ['greeted'] },
    {
      id: 'ask',
      type: 'ask',
      message: { body: 'Hi {{contact.name}}, what is your order number?' },
      expect: { type: 'number' },
      saveAs: 'vars.order',
      timeout: '1h',
      onTimeout: 'nudge',
    },
    { id: 'thank', type: 'send_message', message: { body: 'Order {{vars.order}} is on its way.' }, next: 'end' },
    { id: 'nudge', type: 'send_message', message: { body: 'Still there?' } },
  ],
}

describe('the main job: a customer writes, a published workflow answers', () => {
  let app: TestApp
  let owner: TestSession

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
    const created = await app.rest('POST', '/api/workflows', {
      session: owner,
      body: { name: 'Orders', definition: HELLO },
    })
    expect(created.status, JSON.stringify(created.body)).to.equal(201)
    const published = await app.rest('POST', `/api/workflows/${created.body.id}/publish`, { session: owner, body: {} })
    expect(published.status, JSON.stringify(published.body)).to.equal(200)
    expect(published.body).to.include({ status: 'published', version: 1, hasUnpublishedChanges: false })
  })

  after(() => app.stop())

  it('asks, understands the answer, and tells every step', async () => {
    const first = await app.rest('POST', '/api/sandbox/messages', {
      session: owner,
      body: { phone: '+4915112345678', name: 'Kim', body: 'Hello there' },
    })
    expect(first.status, JSON.stringify(first.body)).to.equal(201)
    await app.work()
    const { conversationId } = first.body
    const messages = async () =>
      (await app.rest('GET', `/api/conversations/${conversationId}/messages`, { session: owner })).body.messages
    expect((await messages()).map((m: any) => [m.direction, m.status, m.body])).to.deep.equal([
      ['inbound', 'received', 'Hello there'],
      ['outbound', 'delivered', 'Hi Kim, what is your order number?'],
    ])
    await app.rest('POST', '/api/sandbox/messages', { session: owner, body: { phone: '+4915112345678', body: '4711' } })
    await app.work()
    expect((await messages()).at(-1).body).to.equal('Order 4711 is on its way.')
    const runs = await app.rest('GET', '/api/runs', { session: owner })
    expect(runs.body.total).to.equal(1)
    const [run] = runs.body.items
    expect(run).to.include({ status: 'completed', workflowName: 'Orders', messagesSent: 2, stepsCount: 4 })
    const { body } = await app.rest('GET', `/api/runs/${run.id}/steps`, { session: owner })
    expect(body.steps.map((s: any) => [s.index, s.stepId, s.status, s.delivery])).to.deep.equal([
      [0, 'which', 'completed', null],
      [1, 'tag', 'completed', null],
      [2, 'ask', 'completed', 'delivered'],
      [3, 'thank', 'completed', 'delivered'],
    ])
    const replayed = await app.rest('POST', `/api/runs/${run.id}/replay`, { session: owner, body: {} })
    expect(replayed.status, JSON.stringify(replayed.body)).to.equal(201)
    expect(replayed.body).to.include({ replayOf: run.id, status: 'queued' })
    await app.work()
    expect((await app.rest('GET', `/api/runs/${replayed.body.id}`, { session: owner })).body.status).to.equal('waiting')
    app.clock.advance(3_600_000)
    await app.work()
    expect((await messages()).at(-1).body).to.equal('Still there?')
  })
})
