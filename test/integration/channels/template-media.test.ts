import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace, newPhone } from '../../factories.ts'
import { type ApiResponse, newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { waitForStatus } from '../../support/broadcasts.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000049444154', 'hex')
const PDF = Buffer.from('%PDF-1.4\n%%EOF')
const UNKNOWN_ID = '0199c0de-ffff-7000-8000-000000000000'
const CODE_PATH = 'params.header.mediaId'

describe('stored file in the header of a template', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi
  let channelId: string
  let image: string
  let document: string

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    channelId = (await buildCloudApiChannel(workspace, cloud)).id
    image = await buildApproved('picture', 'IMAGE')
    document = await buildApproved('invoice', 'DOCUMENT')
  })

  afterEach(() => cloud.stop())

  async function buildApproved(name: string, format: string): Promise<string> {
    const components = [
      { type: 'HEADER', format, example: { header_handle: ['4::sample'] } },
      { type: 'BODY', text: 'Look' },
    ]
    const fields = { name, language: 'en', category: 'utility', components }
    const { id } = await workspace.call('POST', '/api/templates', { channelId, ...fields })
    cloud.templates.add({ ...fields, category: 'UTILITY', status: 'PENDING' })
    await cloud.templates.approve(name)
    return id
  }

  async function upload(file: Buffer, filename: string, { cookie, tenantId } = workspace): Promise<string> {
    const response = await fetch(`${app.url}/api/media?filename=${filename}`, {
      method: 'POST',
      headers: { cookie, 'x-tenant-id': tenantId, 'x-forwarded-for': newAddress() },
      body: new Uint8Array(file),
    })
    const { id } = (await response.json()) as { id: string }
    return id
  }

  const post = (templateId: string, params: object): Promise<ApiResponse> =>
    workspace.request('POST', '/api/messages', {
      to: { phone: newPhone() },
      channelId,
      template: { templateId, params },
    })

  function listHeaders(): object[] {
    return cloud.accepted.map(({ payload }: ApiResponse['body']) => payload.template.components[0])
  }

  const header = (type: string, file: object) => ({ type: 'header', parameters: [{ type, [type]: file }] })
  const copyIds = () => [...cloud.media.files.keys()]

  it('is uploaded once and named by the ID of the provider, with the name of a document', async () => {
    const [png, pdf] = [await upload(PNG, 'cat.png'), await upload(PDF, 'invoice.pdf')]
    for (const [templateId, mediaId] of [
      [image, png],
      [image, png.toUpperCase()],
      [document, pdf],
    ] as const) {
      const { status, body } = await post(templateId, { 'header.mediaId': mediaId })
      expect(status, body.error).to.equal(201)
      await app.work()
      expect((await workspace.call('GET', `/api/messages/${body.id}`)).status).to.equal('sent')
    }
    const [first, second] = copyIds()
    expect(listHeaders()).to.deep.equal([
      header('image', { id: first }),
      header('image', { id: first }),
      header('document', { id: second, filename: 'invoice.pdf' }),
    ])
  })

  it('must be in the workspace, of the kind of the header, and the only source', async () => {
    const png = await upload(PNG, 'cat.png')
    const foreign = await upload(PNG, 'dog.png', await buildWorkspace(app))
    for (const mediaId of [UNKNOWN_ID, foreign]) {
      expect((await post(image, { 'header.mediaId': mediaId })).status).to.equal(404)
    }
    const wrong = await post(document, { 'header.mediaId': png })
    expect([wrong.status, wrong.body.code]).to.deep.equal([422, 'media_not_sendable'])
    const both = await post(image, { 'header.mediaId': png, 'header.link': 'https://example.com/a.png' })
    expect([both.status, both.body.code, both.body.details[0].path]).to.deep.equal([
      422,
      'template_params_invalid',
      CODE_PATH,
    ])
    const neither = await post(image, {})
    expect(neither.body.details).to.deep.equal([{ path: 'params.header.link', message: 'is missing' }])
    expect((await post(image, { 'header.mediaId': 'cat' })).body.details).to.deep.equal([
      { path: CODE_PATH, message: 'must be the ID of a stored file' },
    ])
  })

  it('is sent by a step, and checked by publishing', async () => {
    const png = await upload(PNG, 'cat.png')
    const definition = (templateId: string, mediaId: string) => ({
      version: 1,
      triggers: [{ type: 'message_received' }],
      steps: [{ id: 'show', type: 'send_template', template: { templateId }, params: { 'header.mediaId': mediaId } }],
    })
    const check = async (templateId: string, mediaId: string) => {
      const { id } = await workspace.call('POST', '/api/workflows', {
        name: 'Show',
        definition: definition(templateId, mediaId),
      })
      const { body } = await workspace.request('POST', `/api/workflows/${id}/publish`, {})
      return body.details?.map(({ path, code }: Record<string, unknown>) => [path, code])
    }
    const path = 'steps.0.params.header.mediaId'
    expect(await check(image, UNKNOWN_ID)).to.deep.equal([[path, 'unknown_media']])
    expect(await check(image, '{{contact.fields.file}}')).to.deep.equal([[path, 'unknown_media']])
    expect(await check(document, png)).to.deep.equal([[path, 'media_not_sendable']])
    const { triggers, steps } = definition(image, png.toUpperCase())
    await buildWorkflow(workspace, { triggers, steps })
    await cloud.webhooks.sendText({ from: newPhone().slice(1), body: 'hi' })
    await app.work()
    expect(listHeaders()).to.deep.equal([header('image', { id: copyIds()[0] })])
  })

  it('is the same for all recipients of a broadcast', async () => {
    const pdf = await upload(PDF, 'catalog.pdf')
    const phones = [newPhone(), newPhone()]
    const create = (fields: object) =>
      workspace.request('POST', '/api/broadcasts', { name: 'Catalog', templateId: document, ...fields })
    const own = await create({
      audience: { recipients: [{ phone: newPhone(), params: { 'header.mediaId': pdf } }] },
    })
    expect([own.status, own.body.details[0].path]).to.deep.equal([400, 'audience.recipients.0.params.header.mediaId'])
    const audience = { recipients: phones.map((phone) => ({ phone })) }
    const { body: unknown } = await create({ audience, params: { 'header.mediaId': UNKNOWN_ID } })
    expect((await workspace.request('POST', `/api/broadcasts/${unknown.id}/send`, {})).status).to.equal(404)
    const { body } = await create({ audience, params: { 'header.mediaId': pdf } })
    await workspace.call('POST', `/api/broadcasts/${body.id}/send`, {})
    await waitForStatus(app, workspace, body.id, 'completed')
    const expected = header('document', { id: copyIds()[0], filename: 'catalog.pdf' })
    expect(listHeaders()).to.deep.equal([expected, expected])
  })
})
