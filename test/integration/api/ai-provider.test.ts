import { expect } from 'chai'
import { buildMember, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const PROVIDER = { baseUrl: 'https://models.example.com/v1', model: 'small-1', apiKey: 'canary-key-4711' }

describe('AI provider API', () => {
  let app: TestApp

  before(async () => {
    app = await startTestApp()
  })

  after(() => app.stop())

  const call = (method: string, session: WorkspaceClient, body?: object) =>
    session.request(method, '/api/ai-provider', body)
  const put = (session: WorkspaceClient, fields: object = {}) => call('PUT', session, { ...PROVIDER, ...fields })

  it('PUT /api/ai-provider creates one provider per workspace and updates it afterwards', async () => {
    const owner = await buildWorkspace(app)
    expect((await call('GET', owner)).status).to.equal(404)
    const first = await put(owner, { baseUrl: 'https://models.example.com/v1/' })
    expect(first.status).to.equal(200)
    expect(first.body).to.include({ baseUrl: PROVIDER.baseUrl, model: 'small-1', hasApiKey: true })
    app.clock.advance(1000)
    const second = await put(owner, { model: 'large-1' })
    expect(second.body).to.deep.equal({ ...first.body, model: 'large-1', updatedAt: app.clock.now().toISOString() })
    expect((await call('GET', owner)).body).to.deep.equal(second.body)
    const [rows] = await app.system.db('ai_providers').where({ tenant_id: owner.tenantId }).count()
    expect(rows?.['count']).to.equal(1)
  })

  it('the aiProvider tRPC procedures set, return and delete the provider', async () => {
    const owner = await buildWorkspace(app)
    const client = app.client(owner).aiProvider
    const { hasApiKey } = await client.set.mutate(PROVIDER)
    expect([hasApiKey, (await client.get.query({})).model]).to.deep.equal([true, 'small-1'])
    await client.delete.mutate({})
    expect(await errorMessage(client.get.query({}))).to.equal(
      'AI provider not found. Set one with PUT /api/ai-provider',
    )
  })

  it('the API key of a provider is not returned and is encrypted for its own row', async () => {
    const [owner, other] = [await buildWorkspace(app), await buildWorkspace(app)]
    const responses = [await put(owner), await call('GET', owner), await put(other, { apiKey: 'another' })]
    expect(JSON.stringify(responses.map(({ body }) => body))).to.not.include(PROVIDER.apiKey)
    const rows = await app.system.db('ai_providers').whereIn('tenant_id', [owner.tenantId, other.tenantId])
    expect(JSON.stringify(rows)).to.not.include(PROVIDER.apiKey)
    const row = rows.find(({ tenant_id }) => tenant_id === owner.tenantId)
    const opened = (tenantId: string) => app.system.secrets.open(row.sealed_key, `ai-provider:${tenantId}:${row.id}`)
    expect(opened(owner.tenantId)).to.equal(PROVIDER.apiKey)
    expect(() => opened(other.tenantId)).to.throw()
  })

  it('PUT /api/ai-provider keeps the API key when it is omitted and returns 400 if the host changes', async () => {
    const owner = await buildWorkspace(app)
    await put(owner)
    const kept = await put(owner, { apiKey: undefined, baseUrl: 'https://models.example.com/v2' })
    expect(kept.body).to.include({ baseUrl: 'https://models.example.com/v2', hasApiKey: true })
    const moved = await put(owner, { apiKey: undefined, baseUrl: 'https://other.example.com/v1' })
    expect([moved.status, moved.body.details[0].path]).to.deep.equal([400, 'apiKey'])
    expect((await call('GET', owner)).body.baseUrl).to.equal('https://models.example.com/v2')
    expect((await put(owner, { apiKey: null })).body.hasApiKey).to.equal(false)
    const free = await put(owner, { apiKey: undefined, baseUrl: 'https://open.example.com/v1' })
    expect([free.status, free.body.hasApiKey]).to.deep.equal([200, false])
  })

  it('PUT /api/ai-provider returns 400 for base URLs that are not public HTTPS addresses', async () => {
    const owner = await buildWorkspace(app)
    const invalid = [
      'http://models.example.com/v1',
      'https://127.0.0.1/v1',
      'https://localhost/v1',
      'https://169.254.169.254/v1',
      'https://[::1]/v1',
      'https://10.0.0.8/v1',
      'https://2130706433/v1',
      'https://ann:pw@models.example.com/v1',
      'https://models.example.com/v1?key=1',
      'https://models.example.com:8443/v1',
      'ftp://models.example.com',
      'models',
    ]
    for (const baseUrl of invalid) {
      const { status, body } = await put(owner, { baseUrl })
      expect([status, body.details?.[0]?.path], baseUrl).to.deep.equal([400, 'baseUrl'])
    }
    expect((await call('GET', owner)).status).to.equal(404)
  })

  it('PUT /api/ai-provider returns 400 for an invalid API key, an empty model and unknown fields', async () => {
    const owner = await buildWorkspace(app)
    for (const fields of [{ apiKey: 'a\r\nHost: b' }, { apiKey: '' }, { model: '' }, { id: 'x' }]) {
      expect((await put(owner, fields)).status, JSON.stringify(fields)).to.equal(400)
    }
  })

  it('the AI provider can be read by viewers and agents but changed only by admins', async () => {
    const owner = await buildWorkspace(app)
    await put(owner)
    for (const role of ['viewer', 'agent'] as const) {
      const member = await buildMember(owner, role)
      const statuses = [await call('GET', member), await put(member), await call('DELETE', member)]
      expect(statuses.map(({ status }) => status)).to.deep.equal([200, 403, 403])
    }
    const admin = await buildMember(owner, 'admin')
    expect([(await put(admin)).status, (await call('DELETE', admin)).status]).to.deep.equal([200, 204])
    expect((await call('DELETE', owner)).status).to.equal(404)
  })

  it('/api/ai-provider does not expose or change the provider of another workspace', async () => {
    const [owner, outsider] = [await buildWorkspace(app), await buildWorkspace(app)]
    await put(owner)
    expect([(await call('GET', outsider)).status, (await call('DELETE', outsider)).status]).to.deep.equal([404, 404])
    await put(outsider, { model: 'theirs' })
    expect((await call('GET', owner)).body.model).to.equal('small-1')
  })
})
