import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { enqueueDueMedia } from '../../../src/features/media/fetch-media.ts'
import { HOUR, MINUTE, SECOND } from '../../../src/platform/time.ts'
import { buildCloudApiChannel, buildWorkspace } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { openEventStream } from '../../support/event-stream.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('files that customers send', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    await buildCloudApiChannel(workspace, cloud)
  })

  afterEach(() => cloud.stop())

  const BYTES = Buffer.from('Receipt of 42 euros')

  const sendDocument = (file: object) =>
    cloud.webhooks.sendMessage({
      from: '15550009001',
      message: { type: 'document', document: { filename: 'receipt.txt', ...file } },
    })

  async function readMessage(): Promise<ApiResponse['body']> {
    const { items } = await workspace.call('GET', '/api/conversations')
    const { messages } = await workspace.call('GET', `/api/conversations/${items[0].id}/messages`)
    return messages.at(-1)
  }

  async function workAfter(ms: number): Promise<void> {
    app.clock.advance(ms)
    await enqueueDueMedia(app.system)
    await app.work()
  }

  it('are shown to subscribers as in responses, when their message arrives and when they are stored', async () => {
    await cloud.webhooks.sendText({ from: '15550009001', body: 'hi' })
    const [{ id: conversationId }] = (await workspace.call('GET', '/api/conversations')).items
    const stream = await openEventStream<{ type: string; message?: ApiResponse['body'] }>(app.url, workspace, {
      procedure: 'conversations.follow',
      input: { conversationId },
    })
    await sendDocument(cloud.media.add(BYTES, 'text/plain'))
    const arrived = await stream.until(({ message }) => message?.type === 'document')
    expect(arrived.at(-1)?.data.message.media).to.include({ filename: 'receipt.txt' })
    await app.work()
    const stored = await stream.until(({ message }) => message?.media?.status === 'stored')
    const { url: _url, ...shown } = stored.at(-1)?.data.message.media ?? {}
    const { url: _other, ...expected } = (await readMessage()).media
    expect(shown).to.deep.equal(expected)
    stream.close()
  })

  it('are stored in the background and shown with their messages', async () => {
    const file = cloud.media.add(BYTES, 'text/plain')
    await sendDocument(file)
    expect((await readMessage()).media).to.include({ status: 'pending', id: null, filename: 'receipt.txt', url: null })
    await app.work()
    const { id, media } = await readMessage()
    expect(media).to.include({
      status: 'stored',
      mimeType: 'text/plain',
      size: BYTES.length,
      filename: 'receipt.txt',
      sha256: file.sha256,
    })
    expect(await (await fetch(app.url + media.url)).text()).to.equal(String(BYTES))
    const event = await app.system
      .db('events')
      .where({ tenant_id: workspace.tenantId, type: 'message.media_stored' })
      .first<{ data: object }>('data')
    expect(event.data).to.include({ messageId: id, mediaId: media.id })
  })

  it('are stored once when two messages have the same file', async () => {
    await sendDocument(cloud.media.add(BYTES, 'text/plain'))
    await app.work()
    const first = await readMessage()
    await sendDocument(cloud.media.add(BYTES, 'text/plain'))
    await app.work()
    const second = await readMessage()
    expect(second.id).to.not.equal(first.id)
    expect(second.media.id).to.equal(first.media.id)
  })

  it('are fetched again after a temporary failure', async () => {
    const file = cloud.media.add(BYTES, 'text/plain')
    const stored = cloud.media.files.get(file.id) ?? expect.fail('the file is missing')
    // The content changes on its way, so that it does not have the announced hash.
    cloud.media.files.set(file.id, { ...stored, bytes: Buffer.from('damaged') })
    await sendDocument(file)
    await app.work()
    expect((await readMessage()).media.status).to.equal('pending')
    cloud.media.files.set(file.id, stored)
    await app.work()
    expect((await readMessage()).media.status).to.equal('pending')
    await workAfter(10 * SECOND)
    expect((await readMessage()).media.status).to.equal('stored')
  })

  it('fail when the provider does not have them any more', async () => {
    const file = cloud.media.add(BYTES, 'text/plain')
    cloud.media.delete(file.id)
    await sendDocument(file)
    await app.work()
    expect((await readMessage()).media).to.include({ status: 'failed', url: null })
  })

  it('fail after the last of several attempts', async () => {
    const file = cloud.media.add(BYTES, 'text/plain')
    await sendDocument({ ...file, sha256: 'ab'.repeat(32) })
    await app.work()
    for (const ms of [10 * SECOND, MINUTE, 5 * MINUTE, HOUR]) await workAfter(ms)
    expect((await readMessage()).media.status).to.equal('pending')
    await workAfter(6 * HOUR)
    expect((await readMessage()).media.status).to.equal('failed')
  })

  it('show that they were deleted', async () => {
    await sendDocument(cloud.media.add(BYTES, 'text/plain'))
    await app.work()
    const { media } = await readMessage()
    expect((await workspace.request('DELETE', `/api/media/${media.id}`)).status).to.equal(204)
    expect((await readMessage()).media).to.include({ status: 'deleted', id: null, url: null })
  })
})
