import { expect } from 'chai'
import { HOUR, systemClock } from '../../../src/platform/time.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { listMessageBodies } from '../../support/queries.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ECHO = {
  settings: { reentry: 'parallel' },
  steps: [{ id: 'answer', type: 'send_message', message: { body: 'You said {{message.body}}' } }],
}

describe('message order with an application clock ahead of the database clock', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    app.clock.advance(systemClock.now().getTime() - app.clock.now().getTime() + HOUR)
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, ECHO)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    await buildCloudApiChannel(workspace, cloud)
  })

  after(async () => {
    await cloud.stop()
    await app.stop()
  })

  it('places every new message after the existing ones, whether a customer, a workflow or an agent wrote it', async () => {
    for (const body of ['a', 'b']) {
      await cloud.webhooks.sendText({ from: '15550003001', body })
      await app.work()
    }
    const conversations = await workspace.call('GET', '/api/conversations')
    const [{ id }] = conversations.items
    const { status } = await workspace.request('POST', `/api/conversations/${id}/messages`, { body: 'From an agent' })
    expect(status).to.equal(201)
    await app.work()
    const bodies = await listMessageBodies(workspace, id)
    expect(bodies).to.deep.equal(['a', 'You said a', 'b', 'You said b', 'From an agent'])
  })

  it("sends an agent's message only after the queued message before it was sent", async () => {
    cloud.rejectNext(131056)
    cloud.accepted.length = 0
    await cloud.webhooks.sendText({ from: '15550003002', body: 'c' })
    await app.work()
    const conversations = await workspace.call('GET', '/api/conversations')
    const waiting = conversations.items.find(
      (one: { lastMessage: { body: string } }) => one.lastMessage.body === 'You said c',
    )
    await workspace.call('POST', `/api/conversations/${waiting.id}/messages`, { body: 'From an agent' })
    app.clock.advance(60_000)
    await app.work()
    expect(cloud.accepted.map(({ body }) => body)).to.deep.equal(['You said c', 'From an agent'])
  })
})
