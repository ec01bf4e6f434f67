import { expect } from 'chai'
import { buildChannel, buildCloudApiChannel, buildTemplate, buildWorkspace } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const BODY = {
  type: 'BODY',
  text: 'Hi {{first_name}}, welcome.',
  example: { body_text_named_params: [{ param_name: 'first_name', example: 'Ana' }] },
}

describe('templates of a provider', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi
  let channelId: string

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    channelId = (await buildCloudApiChannel(workspace, cloud)).id
  })

  afterEach(() => cloud.stop())

  const createDraft = (fields: object = {}): Promise<ApiResponse['body']> =>
    buildTemplate(workspace, { channelId, body: undefined, components: [BODY], ...fields })
  const submit = (id: string) => workspace.request('POST', `/api/templates/${id}/submit`, {})
  const sync = (): Promise<ApiResponse['body']> => workspace.call('POST', '/api/templates/sync', { channelId })
  const get = (id: string): Promise<ApiResponse['body']> => workspace.call('GET', `/api/templates/${id}`)

  async function listEvents(): Promise<string[]> {
    const rows = await app.system.db('events').where('tenant_id', workspace.tenantId).orderBy('id').select('type')
    return rows.map(({ type }) => type).filter((type: string) => type.startsWith('template.'))
  }

  it('POST /api/templates/{templateId}/submit makes the template pending at the provider', async () => {
    const draft = await createDraft()
    expect(draft.status).to.equal('draft')
    const { status, body } = await submit(draft.id)
    expect([status, body.status]).to.deep.equal([200, 'pending'])
    const [listed] = cloud.templates.all.values()
    expect(listed).to.deep.include({
      name: 'sale',
      language: 'en',
      category: 'MARKETING',
      parameter_format: 'NAMED',
      components: [BODY],
    })
    expect(body.providerTemplateId).to.equal(listed?.id)
    expect(await listEvents()).to.deep.equal(['template.created', 'template.submitted', 'template.status_changed'])
  })

  it('POST /api/templates/{templateId}/submit returns 409 for a template that is pending', async () => {
    const { id } = await createDraft()
    await submit(id)
    const again = await submit(id)
    expect([again.status, again.body.code]).to.deep.equal([409, 'template_not_draft'])
  })

  it('two submissions of a template at once create it once at the provider', async () => {
    const { id } = await createDraft()
    cloud.latencyMs = 200
    const responses = await Promise.all([submit(id), submit(id)])
    expect(responses.map(({ status }) => status).toSorted()).to.deep.equal([200, 409])
    expect(cloud.templates.all.size).to.equal(1)
  })

  it('POST /api/templates/{templateId}/submit returns 502 with the reason of the provider, and can be repeated', async () => {
    const { id } = await createDraft()
    cloud.rejectNextManagementCall(100, { details: 'The text breaks a policy' })
    const failed = await submit(id)
    expect([failed.status, failed.body.code]).to.deep.equal([502, 'provider_error'])
    expect(failed.body.error).to.include('The text breaks a policy')
    expect((await get(id)).status).to.equal('draft')
    const audited = async () => (await workspace.call('GET', '/api/audit-events?action=templates.submit')).items.length
    expect(await audited()).to.equal(0)
    expect((await submit(id)).body.status).to.equal('pending')
    expect(await audited()).to.equal(1)
  })

  it('POST /api/templates/{templateId}/submit returns 502 when the provider cannot be reached', async () => {
    const { id } = await createDraft()
    await cloud.stop()
    const failed = await submit(id)
    expect([failed.status, failed.body.code]).to.deep.equal([502, 'provider_error'])
    cloud = await FakeCloudApi.start({ clock: app.clock })
  })

  it('POST /api/templates/{templateId}/submit returns 422 until the channel names its business account', async () => {
    const channel = await buildChannel(workspace, { ...cloud.settings, ...cloud.credentials, wabaId: undefined })
    const draft = await createDraft({ channelId: channel.id })
    const refused = await submit(draft.id)
    expect([refused.status, refused.body.code]).to.deep.equal([422, 'business_account_missing'])
    await workspace.call('PATCH', `/api/channels/${channel.id}`, { wabaId: cloud.wabaId })
    expect((await submit(draft.id)).body.status).to.equal('pending')
  })

  it('POST /api/templates/{templateId}/submit approves a template of the sandbox', async () => {
    const { id } = await buildTemplate(workspace, { name: 'local' })
    expect((await submit(id)).body.status).to.equal('approved')
  })

  it('a submission whose result was lost is repaired by a synchronization', async () => {
    const { id } = await createDraft()
    // The provider has the template, and the process ended before it stored the response.
    cloud.templates.add({ name: 'sale', components: [BODY], parameter_format: 'NAMED', status: 'PENDING' })
    const again = await submit(id)
    expect([again.status, again.body.code]).to.deep.equal([502, 'provider_error'])
    expect(again.body.error).to.include('Synchronize the templates of the channel')
    expect(await sync()).to.deep.equal({ total: 1, created: 0, updated: 1, deleted: 0, skipped: 0 })
    expect(await get(id)).to.deep.include({ status: 'pending', providerTemplateId: [...cloud.templates.all.keys()][0] })
    expect((await sync()).updated).to.equal(0)
  })

  it('webhooks of the provider approve, reject and pause a template, and report its quality and category', async () => {
    const { id } = await createDraft()
    await submit(id)
    expect(await cloud.templates.approve('sale')).to.equal(200)
    expect((await get(id)).status).to.equal('approved')
    await cloud.templates.changeQuality('sale', 'YELLOW')
    await cloud.templates.changeCategory('sale', 'UTILITY')
    expect(await get(id)).to.include({ quality: 'yellow', category: 'utility' })
    app.clock.advance(2000)
    await cloud.templates.pause('sale')
    expect(await get(id)).to.include({ status: 'paused' })
    expect((await get(id)).rejectionReason).to.include('paused for low quality')
    expect((await listEvents()).slice(3)).to.deep.equal([
      'template.status_changed',
      'template.quality_changed',
      'template.category_changed',
      'template.status_changed',
    ])
  })

  it('a rejected template can be changed and submitted again under its name', async () => {
    const { id } = await createDraft()
    await submit(id)
    await cloud.templates.reject('sale')
    expect(await get(id)).to.include({ status: 'rejected', rejectionReason: 'INVALID_FORMAT' })
    const renamed = await workspace.request('PATCH', `/api/templates/${id}`, { name: 'other' })
    expect([renamed.status, renamed.body.code]).to.deep.equal([409, 'template_not_editable'])
    const changed = await workspace.call('PATCH', `/api/templates/${id}`, { components: [{ ...BODY, text: 'Hello' }] })
    expect([changed.status, changed.body]).to.deep.equal(['draft', 'Hello'])
    await sync()
    expect((await get(id)).body).to.equal('Hello')
    expect((await submit(id)).body.status).to.equal('pending')
    expect([...cloud.templates.all.values()].map(({ status }) => status)).to.deep.equal(['PENDING'])
  })

  it('POST /api/templates/sync pages through the list, creates, updates and marks deleted', async () => {
    for (let number = 0; number < 250; number += 1) cloud.templates.add({ name: `template_${number}` })
    expect(await sync()).to.deep.equal({ total: 250, created: 250, updated: 0, deleted: 0, skipped: 0 })
    const { items } = await workspace.call('GET', '/api/templates?limit=1')
    expect(items[0]).to.deep.include({ status: 'approved', body: 'Hello', variables: [] })
    const changed = cloud.templates.find('template_3')
    Object.assign(changed ?? {}, { components: [{ type: 'BODY', text: 'Changed' }], quality_score: { score: 'RED' } })
    cloud.templates.all.delete(cloud.templates.find('template_4')?.id ?? '')
    app.clock.advance(120_000)
    expect(await sync()).to.deep.equal({ total: 249, created: 0, updated: 1, deleted: 1, skipped: 0 })
    expect(await sync()).to.deep.include({ updated: 0, deleted: 0 })
  })

  it('POST /api/templates/sync skips templates that it cannot read, and then deletes nothing', async () => {
    cloud.templates.add({ name: 'fine' })
    const { id } = cloud.templates.add({ name: 'gone' })
    await sync()
    cloud.templates.all.delete(id)
    cloud.templates.add({ name: 'odd', category: 'SERVICE' })
    app.clock.advance(120_000)
    expect(await sync()).to.deep.equal({ total: 2, created: 0, updated: 0, deleted: 0, skipped: 1 })
  })

  it('DELETE /api/templates/{templateId} deletes the template at the provider as well', async () => {
    const { id } = await createDraft()
    await submit(id)
    expect((await workspace.request('DELETE', `/api/templates/${id}`)).status).to.equal(204)
    expect(cloud.templates.all.size).to.equal(0)
  })

  it('DELETE /api/templates/{templateId} works when the provider has deleted the template', async () => {
    const { id } = await createDraft()
    await submit(id)
    cloud.templates.all.clear()
    expect((await workspace.request('DELETE', `/api/templates/${id}`)).status).to.equal(204)
  })
})
