import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { newWamid } from '../../../fake-whatsapp/webhooks.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { say } from '../../support/steps.ts'

const FROM = '15550006101'

describe('trigger for the first message of a conversation', () => {
  let app: TestApp
  let cloud: FakeCloudApi

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    cloud = await FakeCloudApi.start({ clock: app.clock })
  })

  after(async () => {
    await cloud.stop()
    await app.stop()
  })

  async function receive(...bodies: string[]): Promise<string[]> {
    const timestamp = String(Math.floor(app.clock.now().getTime() / 1000))
    const messages = bodies.map((body) => ({ from: FROM, id: newWamid(), timestamp, type: 'text', text: { body } }))
    await cloud.webhooks.post(cloud.webhooks.envelope({ contacts: [{ wa_id: FROM }], messages }))
    await app.work()
    return cloud.accepted.map(({ body }) => body)
  }

  it('matches the first of a webhook with several messages, and the first after the conversation was closed', async () => {
    const workspace = await buildWorkspace(app)
    await buildCloudApiChannel(workspace, cloud)
    await buildWorkflow(workspace, {
      triggers: [{ type: 'message_received', first: true }],
      settings: { reentry: 'parallel' },
      steps: [say('welcome', 'Welcome {{message.body}}')],
    })
    expect(await receive('one', 'two')).to.deep.equal(['Welcome one'])
    expect(await receive('three')).to.deep.equal(['Welcome one'])
    const { items } = await workspace.call('GET', '/api/conversations')
    await workspace.call('PATCH', `/api/conversations/${items[0].id}`, { status: 'closed' })
    expect(await receive('four', 'five')).to.deep.equal(['Welcome one', 'Welcome four'])
  })
})
