import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'

const PROVIDER = { baseUrl: 'https://models.example.com/v1', model: 'small-1', apiKey: 'canary-key-4711' }

describe('/api/ai-provider', () => {
  let app: TestApp

  before(async () => {
    app = await startTestApp()
  })

  after(() => app.stop())

  const call = (method: string, session: TestSession, body?: object) =>
    app.rest(method, '/api/ai-provider', { session, body })
  const put = (session: TestSession, fields: object = {}) => call('PUT', session, { ...PROVIDER, ...fields })

  it('keeps one provider for a workspace, which later calls change', async () => {
    const owner = await app.signUp()
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

  it('is the same over tRPC', async () => {
    const owner = await app.signUp()
    const client = app.client(owner)['ai-provider']
    const { hasApiKey } = await client.put.mutate(PROVIDER)
    expect([hasApiKey, (await client.get.query({})).model]).to.deep.equal([true, 'small-1'])
    await client.delete.mutate({})
    expect(await errorMessage(client.get.query({}))).to.equal('AI provider not found')
  })

  it('never shows the key again, and stores none that could be read or moved to another row', async () => {
    const [owner, other] = [await app.signUp(), await app.signUp()]
    const answers = [await put(owner), await call('GET', owner), await put(other, { apiKey: 'another' })]
    expect(JSON.stringify(answers.map(({ body }) => body))).to.not.include(PROVIDER.apiKey)
    const rows = await app.system.db('ai_providers').whereIn('tenant_id', [owner.tenantId, other.tenantId])
    expect(JSON.stringify(rows)).to.not.include(PROVIDER.apiKey)
    const row = rows.find(({ tenant_id }) => tenant_id === owner.tenantId)
    const opened = (tenantId: string) => app.system.secrets.open(row.sealed_key, `ai-provider:${tenantId}:${row.id}`)
    expect(opened(owner.tenantId)).to.equal(PROVIDER.apiKey)
    expect(() => opened(other.tenantId)).to.throw()
  })

  it('keeps the key when none is given, but takes it to no other host', async () => {
    const owner = await app.signUp()
    await put(owner)
    const kept = await put(owner, { apiKey: undefined, baseUrl: 'https://models.example.com/v2' })
    expect(kept.body).to.include({ baseUrl: 'https://models.example.com/v2', hasApiKey: true })
    const moved = await put(owner, { apiKey: undefined, baseUrl: 'https://thief.example.com/v1' })
    expect([moved.status, moved.body.details[0].path]).to.deep.equal([400, 'apiKey'])
    expect((await call('GET', owner)).body.baseUrl).to.equal('https://models.example.com/v2')
    expect((await put(owner, { apiKey: null })).body.hasApiKey).to.equal(false)
    const free = await put(owner, { apiKey: undefined, baseUrl: 'https://open.example.com/v1' })
    expect([free.status, free.body.hasApiKey]).to.deep.equal([200, false])
  })

  it('takes public addresses over TLS only', async () => {
    const owner = await app.signUp()
    const wrong = [
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
    for (const baseUrl of wrong) {
      const { status, body } = await put(owner, { baseUrl })
      expect([status, body.details?.[0]?.path], baseUrl).to.deep.equal([400, 'baseUrl'])
    }
    expect((await call('GET', owner)).status).to.equal(404)
  })

  it('refuses what cannot stand in a header, and fields that it does not know', async () => {
    const owner = await app.signUp()
    for (const fields of [{ apiKey: 'a\r\nHost: b' }, { apiKey: '' }, { model: '' }, { id: 'x' }]) {
      expect((await put(owner, fields)).status, JSON.stringify(fields)).to.equal(400)
    }
  })

  it('lets viewers and agents look, and only admins change', async () => {
    const owner = await app.signUp()
    await put(owner)
    for (const role of ['viewer', 'agent'] as const) {
      const session = await app.join(owner.tenantId, role)
      const statuses = [await call('GET', session), await put(session), await call('DELETE', session)]
      expect(statuses.map(({ status }) => status)).to.deep.equal([200, 403, 403])
    }
    const admin = await app.join(owner.tenantId, 'admin')
    expect([(await put(admin)).status, (await call('DELETE', admin)).status]).to.deep.equal([200, 204])
    expect((await call('DELETE', owner)).status).to.equal(404)
  })

  it("does not touch another workspace's provider", async () => {
    const [owner, stranger] = [await app.signUp(), await app.signUp()]
    await put(owner)
    expect([(await call('GET', stranger)).status, (await call('DELETE', stranger)).status]).to.deep.equal([404, 404])
    await put(stranger, { model: 'theirs' })
    expect((await call('GET', owner)).body.model).to.equal('small-1')
  })
})
