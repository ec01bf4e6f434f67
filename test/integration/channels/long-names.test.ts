import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildBroadcastChannel } from '../../support/broadcasts.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('a message of a person with a long name', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' })
    workspace = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    await buildBroadcastChannel(workspace, cloud)
  })

  after(async () => {
    await cloud.stop()
    await app.stop()
  })

  it('is received when the name is cut within an emoji', async () => {
    const name = `${'a'.repeat(199)}😀`
    expect((await cloud.webhooks.sendText({ from: '15550009001', name, body: 'hi' })).status).to.equal(200)
    const { items } = await workspace.call('GET', '/api/contacts')
    expect(items.map((contact: { name: string }) => contact.name)).to.deep.equal([`${'a'.repeat(199)}\u{fffd}`])
    const { total } = await workspace.call('GET', '/api/conversations')
    expect(total).to.equal(1)
  })
})
