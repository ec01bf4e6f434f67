import { expect } from 'chai'
import { HOUR } from '../../../src/platform/time.ts'
import { buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { getRun, listMessageBodies, listMessages, listRunSteps } from '../../support/queries.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const HELLO = {
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

describe('a published workflow that answers customers', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let workflow: ApiResponse['body']

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
    workflow = await buildWorkflow(owner, HELLO, { name: 'Orders' })
  })

  after(() => app.stop())

  it('POST /api/workflows/{workflowId}/publish publishes version 1 of a new workflow', () => {
    expect(workflow).to.include({ status: 'published', version: 1, hasUnpublishedChanges: false })
  })

  it('a workflow asks a question, uses the reply, records each step and can be replayed', async () => {
    const phone = newPhone()
    const { conversationId } = await sendAsCustomer(owner, { phone, name: 'Kim', body: 'Hello there' })
    await app.work()
    const messages = await listMessages(owner, conversationId)
    expect(messages.map(({ direction, status, body }) => [direction, status, body])).to.deep.equal([
      ['inbound', 'received', 'Hello there'],
      ['outbound', 'delivered', 'Hi Kim, what is your order number?'],
    ])
    await sendAsCustomer(owner, { phone, body: '4711' })
    await app.work()
    expect((await listMessageBodies(owner, conversationId)).at(-1)).to.equal('Order 4711 is on its way.')
    const runs = await owner.call('GET', '/api/runs')
    expect(runs.total).to.equal(1)
    const [run] = runs.items
    expect(run).to.include({ status: 'completed', workflowName: 'Orders', sentMessageCount: 2, stepCount: 4 })
    const steps = await listRunSteps(owner, run.id)
    expect(steps.map(({ index, stepId, status, delivery }) => [index, stepId, status, delivery])).to.deep.equal([
      [0, 'which', 'completed', null],
      [1, 'tag', 'completed', null],
      [2, 'ask', 'completed', 'delivered'],
      [3, 'thank', 'completed', 'delivered'],
    ])
    const replay = await owner.call('POST', `/api/runs/${run.id}/replay`, {})
    expect(replay).to.include({ replayOf: run.id, status: 'queued' })
    await app.work()
    expect((await getRun(owner, replay.id)).status).to.equal('waiting')
    app.clock.advance(HOUR)
    await app.work()
    expect((await listMessageBodies(owner, conversationId)).at(-1)).to.equal('Still there?')
  })
})
