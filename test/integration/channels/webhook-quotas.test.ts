import { expect } from 'chai'
import { newWamid } from '../../../fake-whatsapp/webhooks.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { retryWebhooks } from '../../../src/features/inbound/retry-webhooks.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { buildChannel, buildCloudApiChannel, buildWorkspace } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { listWebhooks, postSigned } from '../../support/signed-webhook.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const KB = 1024

describe('quotas of webhook calls', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi
  let channel: ApiResponse['body']

  before(async () => {
    // Of which a workspace keeps 128 KB in a day.
    app = await startTestApp({ WEBHOOK_QUOTA_MB: '1', ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    channel = await buildCloudApiChannel(workspace, cloud)
  })

  afterEach(() => cloud.stop())

  /** A call with messages, padded to a size. */
  function buildCall(bodies: string[], bytes: number): string {
    const timestamp = String(Math.floor(app.clock.now().getTime() / 1000))
    const messages = bodies.map((body) => {
      return { from: '15550008001', id: newWamid(), timestamp, type: 'text', text: { body } }
    })
    const call = cloud.webhooks.envelope({ messages })
    return call + ' '.repeat(bytes - Buffer.byteLength(call))
  }

  async function listBodies(): Promise<string[]> {
    const rows = await app.system.db('messages').where('tenant_id', workspace.tenantId).orderBy('id').select('body')
    return rows.map(({ body }: { body: string }) => body)
  }

  async function post(bodies: string[], bytes: number): Promise<void> {
    for (const body of bodies) {
      expect(await cloud.webhooks.post(buildCall(body.split(' '), bytes)), body).to.equal(200)
      app.clock.advance(SECOND)
    }
  }

  it('keep the bodies of a share of the calls of a day, and every message', async () => {
    await post(['one', 'two', 'three', 'four', 'five'], 40 * KB)
    expect(await listBodies()).to.deep.equal(['one', 'two', 'three', 'four', 'five'])
    const calls = await listWebhooks(workspace, channel)
    expect(calls.map(({ bytes }) => bytes)).to.deep.equal([0, 0, 40 * KB, 40 * KB, 40 * KB])
    expect(calls.map(({ status, counts }) => [status, counts.messages])).to.deep.equal(
      calls.map(() => ['processed', 1]),
    )
    const path = `/api/channels/${channel.id}/webhooks/${calls[0].id}`
    expect((await workspace.call('GET', path)).body).to.equal('')
    const { status, body } = await workspace.request('POST', `${path}/reprocess`)
    expect([status, body.code]).to.deep.equal([409, 'webhook_body_not_kept'])
    expect((await workspace.call('GET', path)).status).to.equal('processed')
  })

  it('are shared by the channels of a workspace, and not by other workspaces', async () => {
    await post(['one', 'two', 'three'], 40 * KB)
    const second = await buildChannel(workspace)
    const call = JSON.stringify({ entry: [] })
    expect((await postSigned(workspace, second, call + ' '.repeat(20 * KB))).status).to.equal(200)
    expect((await listWebhooks(workspace, second))[0].bytes).to.equal(0)
    const other = await buildWorkspace(app)
    const third = await buildChannel(other)
    expect((await postSigned(other, third, call + ' '.repeat(20 * KB))).status).to.equal(200)
    expect((await listWebhooks(other, third))[0].bytes).to.be.greaterThan(20 * KB)
  })

  it('keep the body of a call that has to be processed again, also if a part of it was stored', async () => {
    await post(['one', 'two', 'three'], 40 * KB)
    await app.system.db.raw(`alter table messages add constraint poison check (body <> 'poison') not valid`)
    try {
      await post(['first poison'], 40 * KB)
    } finally {
      await app.system.db.raw('alter table messages drop constraint poison')
    }
    expect((await listWebhooks(workspace, channel, '?status=pending'))[0].bytes).to.equal(40 * KB)
    app.clock.advance(5 * SECOND)
    await retryWebhooks(app.system)
    expect(await listBodies()).to.include.members(['first', 'poison'])
  })

  it('answer 429 with Retry-After to a channel whose calls of the minute have 512 MB, and not to others', async () => {
    const call = (target: ApiResponse['body']) => postSigned(workspace, target, JSON.stringify({ entry: [] }))
    const other = await buildChannel(workspace)
    const third = await buildChannel(workspace)
    // As if another process had taken them.
    await app.system.db.raw(
      `insert into rate_limits (key, points, expire) values (?, ?, extract(epoch from now()) * 1000 + 50000)`,
      [`webhookBytes:${other.id}`, 512 * KB],
    )
    expect((await call(other)).status).to.equal(200)
    await waitUntil(async () => (await call(other)).status === 429)
    const { status, headers, text } = await call(other)
    expect(status).to.equal(429)
    expect(Number(headers.get('retry-after'))).to.be.within(1, 60)
    expect(JSON.parse(text).error).to.include('512 MB')
    expect((await call(third)).status).to.equal(200)
  })
})
