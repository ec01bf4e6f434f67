import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { DAY } from '../../../src/platform/time.ts'
import { buildCloudApiChannel, buildWorkspace } from '../../factories.ts'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { listFiles } from '../../support/list-files.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('a disk with less free space than is kept', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi

  before(async () => {
    // More than any disk has.
    app = await startTestApp({ DISK_FREE_MIN_MB: '1000000000', ALLOW_LOOPBACK_CHANNELS: 'true' })
    workspace = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    await buildCloudApiChannel(workspace, cloud)
  })

  after(async () => {
    await cloud.stop()
    await app.stop()
  })

  it('takes no uploads: they are answered 503 with Retry-After, and leave nothing', async () => {
    const response = await fetch(`${app.url}/api/media`, {
      method: 'POST',
      headers: { cookie: workspace.cookie, 'x-tenant-id': workspace.tenantId, 'x-forwarded-for': newAddress() },
      body: 'text',
    })
    const { error, code } = JSON.parse(await response.text())
    expect([response.status, code, response.headers.get('retry-after')]).to.deep.equal([503, 'unavailable', '60'])
    expect(error).to.include('almost full')
    expect(await listFiles(app.dataDir, 'media')).to.deep.equal([])
  })

  it('keeps messages, whose files wait and are not asked for', async () => {
    const document = { filename: 'receipt.txt', ...cloud.media.add(Buffer.from('Receipt'), 'text/plain') }
    await cloud.webhooks.sendMessage({ from: '15550009001', message: { type: 'document', document } })
    await app.work()
    const { items } = await workspace.call('GET', '/api/conversations')
    const { messages } = await workspace.call('GET', `/api/conversations/${items[0].id}/messages`)
    expect(messages[0].media).to.include({
      status: 'pending',
      id: null,
      error: 'The disk of the server is almost full',
    })
    expect(cloud.media.downloads.size).to.equal(0)
    const sent = await workspace.request('POST', `/api/conversations/${items[0].id}/messages`, { body: 'Thanks' })
    expect(sent.status).to.equal(201)
    expect((await app.rest('GET', '/readyz')).status).to.equal(200)
    const { due_at: dueAt } = await app.system.db('message_media').where('tenant_id', workspace.tenantId).first()
    expect(dueAt.getTime()).to.be.within(app.clock.now().getTime() + 1, app.clock.now().getTime() + DAY)
  })
})
