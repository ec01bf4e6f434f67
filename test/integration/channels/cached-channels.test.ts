import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { deliverMessages } from '../../../src/features/outbound/deliver-messages.ts'
import { systemClock } from '../../../src/platform/time.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { postSigned } from '../../support/signed-webhook.ts'
import { say } from '../../support/steps.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const NEW_SECRET = 'd'.repeat(32)

describe('channel that another process changes', () => {
  let app: TestApp
  let other: TestApp
  let cloud: FakeCloudApi
  let workspace: WorkspaceClient
  let channel: { id: string; webhookPath: string }

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' }, systemClock)
    other = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http', DATABASE_URL: app.databaseUrl })
  })

  after(async () => {
    await other.stop()
    await app.stop()
  })

  /** Makes the process load the channel, and waits for the answer. */
  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: systemClock })
    channel = await buildCloudApiChannel(workspace, cloud)
    await buildWorkflow(workspace, { settings: { reentry: 'parallel' }, steps: [say('answer', 'Hello')] })
    await cloud.webhooks.sendText({ from: '15550009001', body: 'hi' })
    await waitUntil(() => cloud.accepted.length === 1)
  })

  afterEach(() => cloud.stop())

  const change = (fields: object) =>
    other.rest('PATCH', `/api/channels/${channel.id}`, { session: workspace, body: fields })

  const countQueued = async () =>
    (await app.system.db('messages').where({ channel_id: channel.id, status: 'queued' }).select('id')).length

  it('receives webhooks with its new app secret at once', async () => {
    expect((await change({ appSecret: NEW_SECRET })).status).to.equal(200)
    expect((await postSigned(workspace, channel, '{}', NEW_SECRET)).status).to.equal(200)
  })

  it('sends nothing after it was disconnected', async () => {
    expect((await change({ status: 'disconnected' })).status).to.equal(200)
    await cloud.webhooks.sendText({ from: '15550009001', body: 'again' })
    await waitUntil(async () => (await countQueued()) === 1)
    await deliverMessages(app.system, { tenantId: workspace.tenantId, key: channel.id })
    expect(cloud.calls).to.equal(1)
    expect(await countQueued()).to.equal(1)
  })

  it('sends with its new access token what the provider refused with the old one', async () => {
    cloud.credentials.accessToken = 'new-token'
    expect((await change({ accessToken: 'new-token' })).status).to.equal(200)
    await cloud.webhooks.sendText({ from: '15550009001', body: 'again' })
    await waitUntil(() => cloud.accepted.length === 2)
  })

  it('returns 404 for webhooks after it was deleted', async () => {
    const { status } = await other.rest('DELETE', `/api/channels/${channel.id}`, { session: workspace })
    expect(status).to.equal(204)
    const text = { from: '15550009002', id: 'wamid.late', timestamp: '1', type: 'text', text: { body: 'hi' } }
    const value = {
      messaging_product: 'whatsapp',
      metadata: { display_phone_number: '1', phone_number_id: cloud.settings.phoneNumberId },
      contacts: [{ profile: { name: 'Ada' }, wa_id: '15550009002' }],
      messages: [text],
    }
    const body = JSON.stringify({
      object: 'whatsapp_business_account',
      entry: [{ id: '1', changes: [{ field: 'messages', value }] }],
    })
    expect((await postSigned(workspace, channel, body, cloud.credentials.appSecret)).status).to.equal(404)
  })
})
