import { expect } from 'chai'
import { deriveId } from '../../../src/engine/model/derive-id.ts'
import { HOUR, systemClock } from '../../../src/platform/time.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { listMessageBodies, listMessages } from '../../support/queries.ts'
import { waitUntil } from '../../support/wait-until.ts'
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

  it('places a message after one that another process stores at the same moment', async () => {
    const from = '15550003003'
    await cloud.webhooks.sendText({ from, body: 'd' })
    await app.work()
    const { id: conversationId, lastMessage } = (await workspace.call('GET', '/api/conversations')).items[0]
    const laterId = deriveId('another process', 0, systemClock.now().getTime() + 2 * HOUR)
    const storing = await app.system.db.transaction()
    await storing('conversations')
      .where({ id: conversationId })
      .update({ last_message: JSON.stringify({ ...lastMessage, id: laterId }) })
    const receiving = cloud.webhooks.sendText({ from, body: 'e' })
    await waitUntil(async () => (await countLockWaits(app)) > 0)
    await storing.commit()
    expect((await receiving).status).to.equal(200)
    await app.work()
    const [message] = (await listMessages(workspace, conversationId)).filter(({ body }) => body === 'e')
    expect(message.id > laterId).to.equal(true)
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
