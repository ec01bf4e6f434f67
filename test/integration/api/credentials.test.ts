import { expect } from 'chai'
import { buildCredential, buildMember, buildWorkflow, buildWorkspace, publishWorkflow } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const SECRET = 'canary-secret-4711'
const URL = 'https://shop.example.com/quote'

const TOOL = {
  name: 'shop.quote',
  title: 'Get a quote',
  description: 'Asks the shop for a price.',
  inputSchema: { type: 'object' },
  outputSchema: { type: 'object' },
  effect: 'read',
}

describe('credentials API', () => {
  let app: TestApp
  let owner: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  after(() => app.stop())

  beforeEach(async () => {
    owner = await buildWorkspace(app)
  })

  const build = (fields: object = {}) => buildCredential(owner, { secret: SECRET, ...fields })
  const update = (id: string, body: object) => owner.request('PATCH', `/api/credentials/${id}`, body)
  const createTool = (config: object) =>
    owner.request('POST', '/api/tools', { ...TOOL, config: { method: 'GET', url: URL, ...config } })
  const callStep = (fields: object = {}) => ({ id: 'call', type: 'http', url: URL, ...fields })
  const validate = async (...steps: object[]) => {
    const definition = { version: 1, triggers: [{ type: 'manual' }], steps }
    const { errors } = await owner.call('POST', '/api/workflows/validate', { definition })
    return errors.map(({ code, path }: { code: string; path: string }) => `${code} ${path}`)
  }

  it('POST /api/credentials stores the secret encrypted and returns no more than its last four characters', async () => {
    const placement = { type: 'header', name: 'X-Api-Key' }
    const created = await build({ placement, allowedHosts: ['Shop.example.com'] })
    expect(created).to.deep.include({ name: 'Shop', placement, allowedHosts: ['shop.example.com'], lastFour: '4711' })
    const responses = [
      created,
      await owner.call('GET', `/api/credentials/${created.id}`),
      await owner.call('GET', '/api/credentials'),
      await app.client(owner).credentials.list.query({}),
      (await update(created.id, { name: 'Other' })).body,
    ]
    expect(JSON.stringify(responses)).to.not.include(SECRET)
    const row = await app.system.db('http_credentials').where({ id: created.id }).first()
    const open = (tenantId: string) =>
      app.system.secrets.open(row.sealed_secret, `http-credential:${tenantId}:${created.id}`)
    expect(open(owner.tenantId)).to.equal(SECRET)
    expect(() => open(owner.userId)).to.throw()
    expect((await build({ name: 'Short', secret: 'short-one' })).lastFour).to.equal(null)
  })

  it('the credentials of a workspace are visible to its admins and owners only', async () => {
    const { id } = await build()
    for (const role of ['viewer', 'agent'] as const) {
      const member = await buildMember(owner, role)
      for (const path of ['/api/credentials', `/api/credentials/${id}`])
        expect((await member.request('GET', path)).status).to.equal(403)
    }
    const admin = await buildMember(owner, 'admin')
    expect((await admin.call('GET', '/api/credentials')).items).to.have.length(1)
  })

  it('POST and PATCH /api/credentials return 409 when the name is taken', async () => {
    await build()
    const other = await build({ name: 'Other' })
    const body = { name: 'Shop', placement: { type: 'bearer' }, allowedHosts: ['a.example'], secret: SECRET }
    for (const { status, body: error } of [
      await owner.request('POST', '/api/credentials', body),
      await update(other.id, { name: 'Shop' }),
    ])
      expect([status, error.code]).to.deep.equal([409, 'name_taken'])
  })

  it('POST /api/credentials returns 400 for secrets and places that cannot be sent in a request', async () => {
    const cases: [fields: object, path: string][] = [
      [{ secret: 'a\r\nX-Forged: yes' }, 'secret'],
      [{ secret: 'short' }, 'secret'],
      [{ allowedHosts: [] }, 'allowedHosts'],
      [{ allowedHosts: ['https://a.example/path'] }, 'allowedHosts.0'],
      [{ allowedHosts: ['*.example'] }, 'allowedHosts.0'],
      [{ placement: { type: 'header', name: 'Host' } }, 'placement.name'],
      [{ placement: { type: 'basic', username: 'a:b' } }, 'placement.username'],
      [{ placement: { type: 'cookie' } }, 'placement.type'],
    ]
    const valid = { name: 'N', placement: { type: 'bearer' }, allowedHosts: ['a.example'], secret: SECRET }
    for (const [fields, path] of cases) {
      const { status, body } = await owner.request('POST', '/api/credentials', { ...valid, ...fields })
      expect([status, body.details?.[0].path], JSON.stringify(fields)).to.deep.equal([400, path])
    }
  })

  it('PATCH /api/credentials/{credentialId} requires the secret when hosts are added or the place changes', async () => {
    const { id } = await build({ allowedHosts: ['a.example', 'b.example'] })
    for (const body of [{ allowedHosts: ['a.example', 'evil.example'] }, { placement: { type: 'query', name: 'q' } }]) {
      const refused = await update(id, body)
      expect([refused.status, refused.body.details[0].path]).to.deep.equal([400, 'secret'])
      expect((await update(id, { ...body, secret: 'another-secret' })).status).to.equal(200)
    }
    expect((await update(id, { allowedHosts: ['a.example'] })).body.allowedHosts).to.deep.equal(['a.example'])
  })

  it('DELETE /api/credentials/{credentialId} returns 409 and names the workflows and tools that use it', async () => {
    const { id } = await build()
    const tool = await createTool({ credentialId: id })
    expect(tool.status).to.equal(201)
    const workflow = await buildWorkflow(owner, { steps: [callStep({ credentialId: id })] }, { name: 'Prices' })
    const remove = () => owner.request('DELETE', `/api/credentials/${id}`)
    const used = await remove()
    expect([used.status, used.body.code]).to.deep.equal([409, 'credential_in_use'])
    expect(used.body.error).to.include('"shop.quote", "Prices"')
    expect(used.body.details).to.deep.equal({
      tools: [{ id: tool.body.id, name: 'shop.quote' }],
      workflows: [{ id: workflow.id, name: 'Prices' }],
    })
    await owner.call('DELETE', `/api/tools/${tool.body.id}`)
    await owner.call('PATCH', `/api/workflows/${workflow.id}`, { definition: { version: 1, triggers: [], steps: [] } })
    expect((await remove()).status).to.equal(409)
    await publishWorkflow(owner, workflow.id)
    expect((await remove()).status).to.equal(204)
    expect((await owner.request('GET', `/api/credentials/${id}`)).status).to.equal(404)
  })

  it('publishing rejects a credential of another workspace like an unknown one', async () => {
    const { id } = await buildCredential(await buildWorkspace(app))
    for (const credentialId of [id, owner.userId])
      expect(await validate(callStep({ credentialId }))).to.deep.equal(['unknown_credential steps.0.credentialId'])
    expect(await validate(callStep({ credentialId: '{{vars.id}}' }))).to.deep.equal(['invalid steps.0.credentialId'])
    expect(await validate(callStep({ credentialId: (await build()).id }))).to.deep.equal([])
  })

  it('publishing rejects literal secrets in the headers and parameters of requests', async () => {
    const rejected: [fields: object, path: string][] = [
      [{ headers: { Authorization: 'Bearer abc' } }, 'headers.Authorization'],
      [{ headers: { 'X-API-Key': 'abc-{{vars.x}}' } }, 'headers.X-API-Key'],
      [{ headers: { Cookie: "{{ input.x | default: 'session=1' }}" } }, 'headers.Cookie'],
      [{ query: { access_token: 'abc' } }, 'query.access_token'],
      [{ url: `${URL}?city=Rio&api_key=abc` }, 'url'],
      [{ url: `${URL}?api%5Fkey={{vars.x}}abc` }, 'url'],
    ]
    for (const [fields, path] of rejected) {
      expect(await validate(callStep(fields))).to.include(`literal_secret steps.0.${path}`)
    }
    const input = { url: URL, headers: { Authorization: 'Bearer abc' } }
    const toolStep = { id: 'use', type: 'tool', tool: 'http.request', input }
    expect(await validate(toolStep)).to.deep.equal(['literal_secret steps.0.input.headers.Authorization'])
    const headers = { Authorization: 'Bearer {{input.token}}', 'X-Note': 'abc' }
    expect(await validate(callStep({ headers, query: { token: '{{input.token}}' } }))).to.deep.equal([])
    const { body } = await owner.request('POST', '/api/workflows/validate', {
      definition: {
        version: 1,
        triggers: [{ type: 'manual' }],
        variables: { key: { type: 'string', default: 'abc' } },
        steps: [callStep({ headers: { Authorization: 'Bearer {{vars.key}}' } })],
      },
    })
    expect(body.errors[0]).to.include({ code: 'literal_secret', path: 'steps.0.headers.Authorization' })
    expect(body.errors[0].message).to.include('POST /api/credentials')
  })

  it('publishing rejects literal values that look like secrets, whatever they are called', async () => {
    // Joined, so that scanners of repositories do not report them.
    const stripe = ['sk', 'live', '4eC39HqLyjWDarjtT1zdp7dc'].join('_')
    const google = `AI${'zaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY'}`
    const rejected: [fields: object, path: string][] = [
      [{ headers: { 'X-Note': stripe } }, 'headers.X-Note'],
      [{ query: { q: google } }, 'query.q'],
      [{ url: `${URL}?key=${google}` }, 'url'],
      [{ url: `${URL}?access=9f86d081884c7d659a2f` }, 'url'],
      [{ headers: { 'X-Key': '9f86d081884c7d659a2f' } }, 'headers.X-Key'],
      [{ headers: { 'Proxy-Auth': 'Basic YWxhZGRpbjpvcGVuc2VzYW1lMQ==' } }, 'headers.Proxy-Auth'],
    ]
    for (const [fields, path] of rejected)
      expect(await validate(callStep(fields)), path).to.deep.equal([`literal_secret steps.0.${path}`])
    const headers = {
      'Idempotency-Key': '9f86d081884c7d659a2f',
      'X-Key': '{{input.key}}',
      'X-Note': 'ask_live_chat_agents',
    }
    expect(await validate(callStep({ headers, query: { key: 'articles', access: 'public' } }))).to.deep.equal([])
  })

  it('POST and PATCH /api/tools return 422 for literal secrets and for hosts that a credential does not allow', async () => {
    const { id: credentialId } = await build()
    const rejected: [config: object, code: string][] = [
      [{ headers: { Authorization: 'Bearer abc' } }, 'literal_secret'],
      [{ url: `${URL}?token=abc` }, 'literal_secret'],
      [{ url: `${URL}?key=9f86d081884c7d659a2f` }, 'literal_secret'],
      [{ credentialId, url: 'https://evil.example/quote' }, 'credential_host_refused'],
      [{ credentialId, url: 'http://shop.example.com/quote' }, 'credential_host_refused'],
    ]
    const { body: tool } = await createTool({ credentialId })
    expect(tool.config).to.deep.equal({ method: 'GET', url: URL, credentialId })
    for (const [config, code] of rejected) {
      const created = await createTool(config)
      const updated = await owner.request('PATCH', `/api/tools/${tool.id}`, {
        config: { method: 'GET', url: URL, ...config },
      })
      expect([created.status, created.body.code]).to.deep.equal([422, code])
      expect([updated.status, updated.body.code]).to.deep.equal([422, code])
    }
    const { id: foreignId } = await buildCredential(await buildWorkspace(app))
    expect((await createTool({ credentialId: foreignId })).status).to.equal(404)
  })
})
