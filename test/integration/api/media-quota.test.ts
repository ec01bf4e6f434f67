import { randomBytes, randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { enqueueDueMedia } from '../../../src/features/media/fetch-media.ts'
import { lockMediaQuota } from '../../../src/features/media/media-quota.ts'
import { DAY, HOUR, MINUTE } from '../../../src/platform/time.ts'
import { buildCloudApiChannel, buildWorkspace } from '../../factories.ts'
import { type ApiResponse, newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { listFiles } from '../../support/list-files.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const KB = 1024
const QUOTA_KB = 1024
const text = (bytes: number) => randomBytes(bytes / 2).toString('hex')

describe('quota of files', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp({ MEDIA_QUOTA_MB: '1', ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  async function upload(body: string): Promise<ApiResponse> {
    const response = await fetch(`${app.url}/api/media`, {
      method: 'POST',
      headers: { cookie: workspace.cookie, 'x-tenant-id': workspace.tenantId, 'x-forwarded-for': newAddress() },
      body,
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }

  const codeOf = ({ status, body }: ApiResponse) => [status, body.code]
  const REFUSED = [409, 'media_quota_exceeded']

  /** Inserts the row of a file, as another program may. */
  async function insertFile(kilobytes: number, scope = app.system.forTenant(workspace.tenantId)): Promise<string> {
    const id = randomUUID()
    await scope.sql('insertFile')`
      insert into media (tenant_id, id, sha256, mime_type, bytes, created_at)
      values (${scope.tenantId}, ${id}, ${id}, 'text/plain', ${kilobytes * KB}, ${scope.now()})`
    return id
  }

  it('refuses an upload beyond it with 409 media_quota_exceeded, and takes it after another file is deleted', async () => {
    const { body: first } = await upload(text(600 * KB))
    const refused = await upload(text(600 * KB))
    expect(codeOf(refused)).to.deep.equal(REFUSED)
    expect(refused.body.error).to.include('1 MB').and.to.include('GET /api/media')
    expect((await upload(text(400 * KB))).status).to.equal(201)
    expect((await workspace.request('DELETE', `/api/media/${first.id}`)).status).to.equal(204)
    expect((await upload(text(600 * KB))).status).to.equal(201)
    expect(await listFiles(app.dataDir, `media/files/${workspace.tenantId}`)).to.have.length(2)
  })

  it('counts files whose rows other programs insert and delete', async () => {
    const id = await insertFile(QUOTA_KB - 8)
    expect(codeOf(await upload(text(10 * KB)))).to.deep.equal(REFUSED)
    expect((await upload(text(8 * KB))).status).to.equal(201)
    await app.system.db('media').where({ tenant_id: workspace.tenantId, id }).delete()
    expect((await upload(text(10 * KB))).status).to.equal(201)
  })

  it('counts a small file as 4 KB', async () => {
    await insertFile(QUOTA_KB - 8)
    const statuses = []
    for (const content of ['a', 'b', 'c']) statuses.push((await upload(content)).status)
    expect(statuses).to.deep.equal([201, 201, 409])
    const { total, storedBytes, storedBytesMax } = await workspace.call('GET', '/api/media')
    expect({ total, storedBytes, storedBytesMax }).to.deep.equal({
      total: 3,
      storedBytes: QUOTA_KB * KB,
      storedBytesMax: QUOTA_KB * KB,
    })
  })

  it('is not exceeded by files that are uploaded at once', async () => {
    const responses = await Promise.all([1, 2, 3, 4].map(() => upload(text(400 * KB))))
    expect(responses.map(({ status }) => status).sort()).to.deep.equal([201, 201, 409, 409])
    const stored = await workspace.call('GET', '/api/media')
    expect([stored.total, stored.storedBytes]).to.deep.equal([2, 800 * KB])
    expect(await listFiles(app.dataDir, `media/files/${workspace.tenantId}`)).to.have.length(2)
    expect(await app.system.db('media_writes').where('tenant_id', workspace.tenantId)).to.deep.equal([])
    expect(await listFiles(app.dataDir, 'media/incoming')).to.deep.equal([])
  })

  it('counts a file that another process is just storing', async () => {
    let uploaded: Promise<ApiResponse> | undefined
    await app.system.forTenant(workspace.tenantId).transaction(async (tx) => {
      await lockMediaQuota(tx)
      await insertFile(600, tx)
      let isDone = false
      uploaded = upload(text(600 * KB)).finally(() => (isDone = true))
      await waitUntil(async () => isDone || (await countLockWaits(app)) > 0)
    })
    expect(codeOf((await uploaded) ?? expect.fail())).to.deep.equal(REFUSED)
  })

  it('refuses an upload that announces its size before its body is read', async () => {
    await insertFile(QUOTA_KB)
    const status = await new Promise((resolve, reject) => {
      const outgoing = request(`${app.url}/api/media`, {
        method: 'POST',
        headers: { cookie: workspace.cookie, 'x-tenant-id': workspace.tenantId, 'content-length': '50000' },
      })
      outgoing.on('response', (response) => resolve(response.statusCode))
      outgoing.on('error', reject)
      outgoing.flushHeaders()
    })
    expect(status).to.equal(409)
  })

  it('ends an upload that does not announce its size when it exceeds it', async () => {
    await insertFile(QUOTA_KB - 100)
    const body = new ReadableStream({
      start(controller) {
        for (let sent = 0; sent < 200; sent += 10) controller.enqueue(Buffer.from(text(10 * KB)))
        controller.close()
      },
    })
    const response = await fetch(`${app.url}/api/media`, {
      method: 'POST',
      headers: { cookie: workspace.cookie, 'x-tenant-id': workspace.tenantId },
      body,
      duplex: 'half',
    } as RequestInit)
    expect(response.status).to.equal(409)
    expect(await listFiles(app.dataDir, 'media/incoming')).to.deep.equal([])
  })

  it('is that of one workspace', async () => {
    await insertFile(QUOTA_KB)
    expect(codeOf(await upload('text'))).to.deep.equal(REFUSED)
    workspace = await buildWorkspace(app)
    expect((await upload('text')).status).to.equal(201)
  })

  describe('and files that customers send', () => {
    let cloud: FakeCloudApi

    beforeEach(async () => {
      cloud = await FakeCloudApi.start({ clock: app.clock })
      await buildCloudApiChannel(workspace, cloud)
    })

    afterEach(() => cloud.stop())

    async function receive(content: string): Promise<ApiResponse['body']> {
      const document = { filename: 'receipt.txt', ...cloud.media.add(Buffer.from(content), 'text/plain') }
      await cloud.webhooks.sendMessage({ from: '15550009001', message: { type: 'document', document } })
      await app.work()
      return readMedia()
    }

    async function readMedia(): Promise<ApiResponse['body']> {
      const { items } = await workspace.call('GET', '/api/conversations')
      const { messages } = await workspace.call('GET', `/api/conversations/${items[0].id}/messages`)
      return messages.at(-1).media
    }

    async function workAfter(ms: number): Promise<void> {
      app.clock.advance(ms)
      await enqueueDueMedia(app.system)
      await app.work()
    }

    const countDownloads = () => cloud.media.downloads.size

    it('counts them', async () => {
      expect(await receive(text(600 * KB))).to.include({ status: 'stored', error: null })
      expect(codeOf(await upload(text(600 * KB)))).to.deep.equal(REFUSED)
    })

    it('does not fetch them while it is used up, and fetches them after a file is deleted', async () => {
      const id = await insertFile(QUOTA_KB)
      const media = await receive('Receipt of 42 euros')
      expect(media).to.include({ status: 'pending', id: null, filename: 'receipt.txt' })
      expect(media.error).to.include('1 MB').and.to.include('GET /api/media')
      expect(countDownloads()).to.equal(0)
      for (let hours = 0; hours < 10; hours += 1) await workAfter(HOUR)
      expect((await readMedia()).status).to.equal('pending')
      await app.system.db('media').where({ tenant_id: workspace.tenantId, id }).delete()
      await workAfter(HOUR)
      expect(await readMedia()).to.include({ status: 'stored', error: null })
    })

    it('does not fetch one that is larger than what is left of it', async () => {
      const id = await insertFile(QUOTA_KB - 100)
      const media = await receive(text(200 * KB))
      expect(media.status).to.equal('pending')
      expect(media.error).to.include('does not fit')
      const countOpened = () => [...cloud.media.downloads.values()]
      await workAfter(10 * MINUTE)
      expect(countOpened()).to.deep.equal([1])
      for (let hours = 0; hours < 10; hours += 1) await workAfter(HOUR)
      expect((await readMedia()).status).to.equal('pending')
      await app.system.db('media').where({ tenant_id: workspace.tenantId, id }).delete()
      await workAfter(HOUR)
      expect((await readMedia()).status).to.equal('stored')
      expect((await receive(text(90 * KB))).status).to.equal('stored')
    })

    it('gives them up when the provider does not keep them any more', async () => {
      await insertFile(QUOTA_KB)
      await receive('Receipt of 42 euros')
      const read = () => app.system.db('message_media').where('tenant_id', workspace.tenantId).first()
      await workAfter(7 * DAY)
      expect((await read()).status).to.equal('pending')
      await workAfter(HOUR)
      const { status, error, due_at: dueAt } = await read()
      expect([status, dueAt]).to.deep.equal(['failed', null])
      expect(error).to.include('does not fit')
    })
  })
})
