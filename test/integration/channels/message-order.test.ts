import { expect } from 'chai'
import { HOUR, systemClock } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { FakeCloudApi } from '../../support/fake-cloud-api.ts'

const ECHO = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'any' } }],
  settings: { reentry: 'parallel' },
  steps: [{ id: 'answer', type: 'send_message', message: { body: 'You said {{message.body}}' } }],
}

describe('message order with an application clock ahead of the database clock', () => {
  let app: TestApp
  let owner: TestSession
  let cloud: FakeCloudApi

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    app.clock.advance(systemClock.now().getTime() - app.clock.now().getTime() + HOUR)
    owner = await app.signUp()
    const { body } = await app.rest('POST', '/api/workflows', { session: owner, body: { name: 'E', definition: ECHO } })
    await app.rest('POST', `/api/workflows/${body.id}/publish`, { session: owner, body: {} })
    cloud = await FakeCloudApi.start({ clock: app.clock })
    const settings = { kind: 'whatsapp', name: 'Support', ...cloud.settings, ...cloud.credentials }
    const channel = await app.rest('POST', '/api/channels', { session: owner, body: settings })
    cloud.webhooks.callbackUrl = app.url + channel.body.webhookPath
  })

  after(async () => {
    await cloud.stop()
    await app.stop()
  })

  it('places every new message after the existing ones, whether a customer, a workflow or an agent wrote it', async () => {
    for (const body of ['a', 'b']) {
      await cloud.webhooks.receiveText({ from: '15550003001', body })
      await app.work()
    }
    const { body: conversations } = await app.rest('GET', '/api/conversations', { session: owner })
    const path = `/api/conversations/${conversations.items[0].id}/messages`
    const { status } = await app.rest('POST', path, { session: owner, body: { body: 'A person here' } })
    expect(status).to.equal(201)
    await app.work()
    const { body } = await app.rest('GET', path, { session: owner })
    const bodies = (body.messages as { body: string }[]).map((message) => message.body)
    expect(bodies).to.deep.equal(['a', 'You said a', 'b', 'You said b', 'A person here'])
  })

  it("sends an agent's message only after the queued message before it was sent", async () => {
    cloud.refuseNext(131056)
    cloud.accepted.length = 0
    await cloud.webhooks.receiveText({ from: '15550003002', body: 'c' })
    await app.work()
    const { body: conversations } = await app.rest('GET', '/api/conversations', { session: owner })
    const waiting = conversations.items.find(
      (one: { lastMessage: { body: string } }) => one.lastMessage.body === 'You said c',
    )
    const path = `/api/conversations/${waiting.id}/messages`
    await app.rest('POST', path, { session: owner, body: { body: 'A person here' } })
    app.clock.advance(60_000)
    await app.work()
    expect(cloud.accepted.map(({ body }) => body)).to.deep.equal(['You said c', 'A person here'])
  })
})
