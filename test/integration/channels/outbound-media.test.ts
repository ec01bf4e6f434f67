import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { openChannel } from '../../../src/channels/index.ts'
import { DAY, SECOND } from '../../../src/platform/time.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { type ApiResponse, newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const MB = 1024 * 1024
const PNG_HEAD = Buffer.from(
  '89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000049444154',
  'hex',
)
/** Extended header with the flag of an animation, and without it. */
const ANIMATED_HEAD = Buffer.from('524946462400000057454250565038580a00000002', 'hex')
const STILL_HEAD = Buffer.from('524946462400000057454250565038580a00000000', 'hex')
const WEBP_HEAD = Buffer.from('52494646240000005745425056503820', 'hex')
/** Error of the Cloud API that says to try again. */
const TEMPORARY_ERROR = 131016

describe('messages with a stored file', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi
  let channelId: string
  let phone: string

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    channelId = (await buildCloudApiChannel(workspace, cloud)).id
    phone = newPhone()
    await receive()
  })

  afterEach(() => cloud.stop())

  /** Opens the service window. */
  async function receive(): Promise<void> {
    await cloud.webhooks.sendText({ from: phone.slice(1), body: 'hi' })
    await app.work()
  }

  async function upload(head: Buffer, bytes = 2000, client = workspace): Promise<{ id: string; file: Buffer }> {
    const file = Buffer.concat([head, randomBytes(bytes)])
    const response = await fetch(`${app.url}/api/media?filename=stored.txt`, {
      method: 'POST',
      headers: { cookie: client.cookie, 'x-tenant-id': client.tenantId, 'x-forwarded-for': newAddress() },
      body: file,
    })
    expect(response.status).to.equal(201)
    const { id } = (await response.json()) as { id: string }
    return { id, file }
  }

  const post = (content: object): Promise<ApiResponse> =>
    workspace.request('POST', '/api/messages', { to: { phone }, channelId, ...content })

  /** Sends a message and returns it after its first attempt. */
  async function send(content: object): Promise<ApiResponse['body']> {
    const { status, body } = await post(content)
    expect(status, body.error).to.equal(201)
    await app.work()
    return get(body.id)
  }

  const get = (id: string) => workspace.call('GET', `/api/messages/${id}`)

  async function advance(ms: number): Promise<void> {
    app.clock.advance(ms)
    await app.work()
  }

  const uploads = () => [...cloud.media.files.values()]

  it('are sent with the very bytes of the file, which the provider gets once', async () => {
    const { id: mediaId, file } = await upload(PNG_HEAD, 3 * MB)
    expect(await send({ media: { type: 'image', mediaId }, body: 'Look' })).to.include({
      status: 'sent',
      type: 'image',
    })
    const [copy] = uploads()
    expect(copy?.bytes.equals(file)).to.equal(true)
    expect(copy?.mimeType).to.equal('image/png')
    expect(cloud.accepted.at(-1)?.payload).to.deep.include({ type: 'image', image: { id: copy?.id, caption: 'Look' } })
    const again = await send({
      media: { type: 'image', mediaId },
      body: 'Again?',
      buttons: [{ id: 'yes', title: 'Yes' }],
    })
    expect(again.status).to.equal('sent')
    expect(cloud.accepted.at(-1)?.payload).to.have.nested.property('interactive.header.image.id', copy?.id)
    expect(uploads()).to.have.length(1)
  })

  it('are uploaded once when several messages of a batch have the same file', async () => {
    const { id: mediaId } = await upload(Buffer.from('plain words'), 0)
    const media = { type: 'document', mediaId, filename: 'words.txt' }
    const phones = [phone, newPhone(), newPhone()]
    for (const from of phones.slice(1)) await cloud.webhooks.sendText({ from: from.slice(1), body: 'hi' })
    await app.work()
    // Messages that become due together are sent in one batch.
    const sendAt = new Date(app.clock.now().getTime() + 60_000).toISOString()
    for (const each of phones) {
      await workspace.call('POST', '/api/messages', { to: { phone: each }, channelId, media, sendAt })
    }
    app.clock.advance(60_000)
    await app.work()
    expect(cloud.accepted).to.have.length(3)
    expect(uploads()).to.have.length(1)
    expect(cloud.accepted[0]?.payload).to.deep.include({
      document: { id: uploads()[0]?.id, filename: 'words.txt' },
    })
  })

  it('have the name of the stored document unless they name it themselves', async () => {
    const { id: mediaId } = await upload(Buffer.from('more plain words'), 0)
    await send({ media: { type: 'document', mediaId } })
    expect(cloud.accepted[0]?.payload).to.have.nested.property('document.filename', 'stored.txt')
  })

  it('are refused as stickers of more than 100 KB unless they are animated', async () => {
    const bytes = 150 * 1024
    for (const head of [WEBP_HEAD, STILL_HEAD]) {
      const { id: mediaId } = await upload(head, bytes)
      const { status, body } = await post({ sticker: { mediaId } })
      expect([status, body.code]).to.deep.equal([422, 'media_not_sendable'])
      expect(body.error).to.include('takes at most 500 KB, and 100 KB unless it is animated')
    }
    const { id: mediaId } = await upload(ANIMATED_HEAD, bytes)
    expect((await send({ sticker: { mediaId } })).status).to.equal('sent')
  })

  it('are uploaded again when the provider may have deleted its copy', async () => {
    const { id: mediaId } = await upload(WEBP_HEAD)
    await send({ sticker: { mediaId } })
    expect(cloud.accepted.at(-1)?.payload).to.deep.include({ sticker: { id: uploads()[0]?.id } })
    const copies = app.system.db('provider_media').where('tenant_id', workspace.tenantId)
    const [copy] = await copies.clone().select<{ expires_at: Date }[]>('expires_at')
    expect(Number(copy?.expires_at) - app.clock.now().getTime()).to.be.within(24 * DAY, 26 * DAY)
    await copies.update('expires_at', app.clock.now())
    expect((await send({ sticker: { mediaId } })).status).to.equal('sent')
    expect(uploads()).to.have.length(2)
  })

  it('are sent with a new copy after the provider has lost the one it had', async () => {
    const { id: mediaId } = await upload(PNG_HEAD)
    await send({ media: { type: 'image', mediaId } })
    cloud.media.delete(uploads()[0]?.id ?? '')
    const { id, status } = await send({ media: { type: 'image', mediaId } })
    expect(status).to.equal('queued')
    await advance(SECOND)
    expect((await get(id)).status).to.equal('sent')
    expect(cloud.accepted).to.have.length(2)
    expect(uploads()).to.have.length(1)
  })

  it('are sent exactly once after an upload has failed once', async () => {
    const { id: mediaId } = await upload(PNG_HEAD)
    for (const [code, status] of [
      [TEMPORARY_ERROR, 500],
      [999_999, 500],
    ] as const) {
      cloud.rejectNextManagementCall(code, { status })
      await app.system.db('provider_media').where('tenant_id', workspace.tenantId).delete()
      const before = cloud.accepted.length
      const { id, status: first } = await send({ media: { type: 'image', mediaId } })
      expect([first, cloud.accepted.length]).to.deep.equal(['queued', before])
      await advance(5 * SECOND)
      expect((await get(id)).status).to.equal('sent')
      await advance(5 * SECOND)
      expect(cloud.accepted.length).to.equal(before + 1)
    }
  })

  it('fail without being sent after the fifth failed upload', async () => {
    const { id: mediaId } = await upload(PNG_HEAD)
    cloud.rejectNextManagementCall(TEMPORARY_ERROR, { count: 5, status: 500 })
    const { id } = await send({ media: { type: 'image', mediaId } })
    for (const seconds of [5, 20, 80, 320]) await advance(seconds * SECOND)
    const { status, error } = await get(id)
    expect([status, error.code]).to.deep.equal(['failed', 'provider_unavailable'])
    expect(cloud.accepted).to.deep.equal([])
  })

  it('fail with media_deleted when the file was deleted meanwhile', async () => {
    const { id: mediaId } = await upload(PNG_HEAD)
    cloud.rejectNextManagementCall(TEMPORARY_ERROR, { status: 500 })
    const { id } = await send({ media: { type: 'image', mediaId } })
    await workspace.call('DELETE', `/api/media/${mediaId}`)
    await advance(5 * SECOND)
    const { status, error } = await get(id)
    expect([status, error.code]).to.deep.equal(['failed', 'media_deleted'])
    expect(cloud.accepted).to.deep.equal([])
  })

  it('are refused with 404 for a file of another workspace or an unknown one', async () => {
    const other = await buildWorkspace(app)
    const { id: foreign } = await upload(PNG_HEAD, 2000, other)
    for (const mediaId of [foreign, 'x', '0199c0de-ffff-7000-8000-000000000000']) {
      for (const content of [{ media: { type: 'image', mediaId } }, { sticker: { mediaId } }]) {
        const { status, body } = await post(content)
        expect([status, body.error]).to.deep.equal([404, 'Media not found'])
      }
    }
  })

  it('are refused with 422 and the limit when the file does not fit the type of the message', async () => {
    const { id: png } = await upload(PNG_HEAD)
    const { id: large } = await upload(PNG_HEAD, 5 * MB)
    const { id: webp } = await upload(WEBP_HEAD, 500 * 1024)
    const cases: [content: object, error: string][] = [
      [
        { media: { type: 'video', mediaId: png } },
        'The file is image/png, and a message of type video takes MP4 or 3GP',
      ],
      [{ sticker: { mediaId: png } }, 'The file is image/png, and a message of type sticker takes WebP'],
      [{ media: { type: 'image', mediaId: large } }, 'a message of type image takes at most 5 MB'],
      [
        { sticker: { mediaId: webp } },
        'a message of type sticker takes at most 500 KB, and 100 KB unless it is animated',
      ],
    ]
    for (const [content, error] of cases) {
      const { status, body } = await post(content)
      expect([status, body.code]).to.deep.equal([422, 'media_not_sendable'])
      expect(body.error).to.include(error)
    }
  })

  it('are refused with 400 unless they have either a url or a mediaId', async () => {
    const { id: mediaId } = await upload(PNG_HEAD)
    for (const source of [{}, { mediaId, url: 'https://a.example/x.png' }]) {
      const { status, body } = await post({ media: { type: 'image', ...source } })
      expect([status, body.error]).to.deep.equal([400, 'media must have either a url or a mediaId'])
    }
  })

  it('are delivered in the sandbox without an upload', async () => {
    const { id: mediaId } = await upload(PNG_HEAD)
    const { items } = await workspace.call('GET', '/api/channels')
    const sandbox = items.find(({ type }: { type: string }) => type === 'sandbox').id
    await sendAsCustomer(workspace, { phone })
    await app.work()
    const message = await send({ channelId: sandbox, media: { type: 'image', mediaId } })
    expect(message.status).to.equal('delivered')
    expect(uploads()).to.deep.equal([])
  })

  it('are not sent, and sent again later, when the upload takes too long', async () => {
    const channel = openChannel('whatsapp', cloud.settings, cloud.credentials, { allowsLoopback: true })
    cloud.latencyMs = 2000
    const stream = Readable.from([Buffer.from('abc')])
    const result = await channel.upload?.({ stream, mimeType: 'text/plain', bytes: 3 }, AbortSignal.timeout(50))
    expect(result).to.deep.include({ kind: 'retry', scope: 'recipient' })
    expect(stream.destroyed).to.equal(true)
  })

  describe('of a workflow', () => {
    const workflow = (message: object) => ({
      triggers: [{ type: 'message_received' }],
      steps: [{ id: 'a', type: 'send_message', message }],
    })

    it('are sent by the step send_message, and the step fails when the file was deleted', async () => {
      const { id: mediaId, file } = await upload(PNG_HEAD)
      await buildWorkflow(workspace, workflow({ media: { type: 'image', mediaId }, body: '{{contact.phone}}' }))
      await receive()
      expect(uploads()[0]?.bytes.equals(file)).to.equal(true)
      expect(cloud.accepted[0]?.payload).to.deep.include({ image: { id: uploads()[0]?.id, caption: phone } })
      await workspace.call('DELETE', `/api/media/${mediaId}`)
      await receive()
      const { items } = await workspace.call('GET', '/api/runs?status=failed')
      expect(items[0].error.code).to.equal('unknown_media')
      expect(cloud.accepted).to.have.length(1)
    })

    it('are checked when the workflow is published', async () => {
      const { id: mediaId } = await upload(PNG_HEAD)
      const cases: [message: object, problem: string][] = [
        [{ media: { type: 'image', mediaId: '{{vars.x}}' } }, 'unknown_media'],
        [{ sticker: { mediaId } }, 'media_not_sendable'],
      ]
      for (const [message, code] of cases) {
        const definition = { version: 1, ...workflow(message) }
        const { errors } = await workspace.call('POST', '/api/workflows/validate', { definition })
        expect(errors.map((error: { code: string }) => error.code)).to.deep.equal([code])
      }
    })
  })
})
