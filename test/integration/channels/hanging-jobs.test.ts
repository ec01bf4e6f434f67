import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { systemClock } from '../../../src/platform/time.ts'
import { buildChannel, buildCloudApiChannel, buildWorkspace } from '../../factories.ts'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { listEmailsTo } from '../../support/mail.ts'
import { neverReply, ScriptedServer } from '../../support/scripted-server.ts'
import { postSigned } from '../../support/signed-webhook.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

/** More than a task has places for jobs at work. */
const WORKSPACES = 9
const CONVERSATIONS = 40

describe('a provider that answers neither read receipts nor requests of files', function () {
  this.timeout(120_000)
  let app: TestApp
  let silent: ScriptedServer
  let cloud: FakeCloudApi
  let other: WorkspaceClient

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' }, systemClock)
    silent = await ScriptedServer.start()
    silent.replyWith(neverReply)
    cloud = await FakeCloudApi.start()
    other = await buildWorkspace(app)
    await buildCloudApiChannel(other, cloud)
  })

  after(async () => {
    await silent.stop()
    await cloud.stop()
    await app.stop()
  })

  /** Sends messages of customers to a new channel of the workspace whose provider is silent. */
  async function receive(workspace: WorkspaceClient, contents: object[]): Promise<void> {
    const channel = await buildChannel(workspace, { baseUrl: silent.url })
    const messages = contents.map((content, n) => ({
      from: `1555${1_000_000 + n}`,
      id: `wamid.${randomUUID()}`,
      timestamp: String(Math.floor(Date.now() / 1000)),
      ...content,
    }))
    const value = { metadata: { phone_number_id: channel.phoneNumberId }, messages }
    const entry = [{ id: '1', changes: [{ field: 'messages', value }] }]
    const { status } = await postSigned(workspace, channel, JSON.stringify({ object: 'whatsapp', entry }))
    expect(status).to.equal(200)
  }

  const showTyping = async (workspace: WorkspaceClient) => {
    const { items } = await workspace.call('GET', '/api/conversations?limit=100')
    for (const { id } of items) {
      const path = `/api/conversations/${id}/typing`
      const { status } = await workspace.request('POST', path, undefined, { 'x-forwarded-for': newAddress() })
      expect(status).to.equal(202)
    }
    return items.length
  }

  it('does not delay read receipts of others', async () => {
    const hanging = await buildWorkspace(app)
    await receive(
      hanging,
      Array.from({ length: CONVERSATIONS }, () => ({ type: 'text', text: { body: 'hi' } })),
    )
    await cloud.webhooks.sendText({ from: '15559001000', body: 'hi' })
    expect(await showTyping(hanging)).to.equal(CONVERSATIONS)
    await showTyping(other)
    await waitUntil(() => cloud.readReceipts.length > 0)
    expect(silent.calls.length).to.be.lessThan(CONVERSATIONS)
  })

  it('delays neither files of others nor password resets', async () => {
    for (let n = 0; n < WORKSPACES; n += 1) {
      await receive(await buildWorkspace(app), [{ type: 'document', document: { id: 'file' } }])
    }
    await waitUntil(() => silent.calls.filter(({ url }) => url.endsWith('/file')).length >= WORKSPACES - 1)
    const { email } = await app.signUp()
    await app.rest('POST', '/api/auth/forget-password', { body: { email } })
    await waitUntil(async () => (await listEmailsTo(email, app.dataDir)).length > 0)
    const document = cloud.media.add(Buffer.from('A text'), 'text/plain')
    await cloud.webhooks.sendMessage({ from: '15559001000', message: { type: 'document', document } })
    await waitUntil(async () => (await other.call('GET', '/api/media')).items.length === 1)
  })
})
