import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { buildMember, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const QUOTE = {
  title: 'Get a quote',
  description: 'Asks the shop for the price of an article.',
  inputSchema: { type: 'object', properties: { article: { type: 'string' } }, required: ['article'] },
  outputSchema: { type: 'object', properties: { price: { type: 'number' } } },
  effect: 'read' as const,
  config: { method: 'GET' as const, url: 'https://shop.example.com/quote', headers: { 'X-Shop': 'main' } },
}

/** The configuration in responses: header values may be secrets. */
const REDACTED_CONFIG = { ...QUOTE.config, headers: { 'X-Shop': '[redacted]' } }

describe('tools API', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let outsider: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
    outsider = await buildWorkspace(app)
  })

  after(() => app.stop())

  const create = (body: object, workspace = owner) => workspace.request('POST', '/api/tools', { ...QUOTE, ...body })
  const listTools = async (workspace: WorkspaceClient) => (await workspace.request('GET', '/api/tools')).body.items

  it('GET /api/tools lists the same built-in tools with object schemas in every workspace', async () => {
    const [tools, others] = [await listTools(await buildWorkspace(app)), await listTools(await buildWorkspace(app))]
    expect(tools).to.deep.equal(others)
    expect(tools.map((tool: any) => tool.name)).to.include.members([
      'contact.get',
      'contact.update',
      'contact.tag',
      'conversation.handoff',
      'conversation.close',
      'message.send',
      'http.request',
      'time.now',
    ])
    for (const tool of tools) {
      expect(tool).to.include({ type: 'builtin', enabled: true })
      expect([tool.inputSchema.type, tool.outputSchema.type]).to.deep.equal(['object', 'object'])
      expect(['read', 'write', 'external_send']).to.include(tool.effect)
      expect((await owner.request('GET', `/api/tools/${tool.id}`)).body).to.deep.equal(tool)
    }
  })

  it('POST /api/tools returns 409 too_many_tools when the workspace has 200, and creates one again after one is deleted', async () => {
    const workspace = await buildWorkspace(app)
    const now = app.clock.now()
    const rows = Array.from({ length: 199 }, (_, index) => ({
      tenant_id: workspace.tenantId,
      id: randomUUID(),
      name: `tool_${index}`,
      title: 'Tool',
      description: 'Returns nothing.',
      input_schema: '{}',
      output_schema: '{}',
      effect: 'read',
      config: '{}',
      created_at: now,
      updated_at: now,
    }))
    await app.system.db('tools').insert(rows)
    const last = await create({ name: 'last' }, workspace)
    expect(last.status).to.equal(201)
    const { status, body } = await create({ name: 'next' }, workspace)
    expect([status, body.code]).to.deep.equal([409, 'too_many_tools'])
    await workspace.call('DELETE', `/api/tools/${last.body.id}`)
    expect((await create({ name: 'next' }, workspace)).status).to.equal(201)
  })

  it('POST /api/tools creates an HTTP tool that is listed after the built-in tools', async () => {
    const { status, body } = await create({ name: 'quote' })
    expect(status).to.equal(201)
    expect(body).to.deep.include({ ...QUOTE, config: REDACTED_CONFIG, name: 'quote', type: 'http', enabled: true })
    const { items } = await app.client(owner).tools.list.query({})
    expect(items.filter(({ type }) => type === 'http').map(({ name }) => name)).to.deep.equal(['quote'])
    expect(items.at(-1)?.name).to.equal('quote')
  })

  it('POST and PATCH /api/tools return 409 when the name is taken by another or a built-in tool', async () => {
    await create({ name: 'once' })
    const { body: other } = await create({ name: 'other' })
    const responses = [
      await create({ name: 'once' }),
      await create({ name: 'time.now' }),
      await owner.request('PATCH', `/api/tools/${other.id}`, { name: 'once' }),
      await owner.request('PATCH', `/api/tools/${other.id}`, { name: 'time.now' }),
    ]
    for (const { status, body } of responses) expect([status, body.code]).to.deep.equal([409, 'name_taken'])
    expect((await create({ name: 'once' }, outsider)).status).to.equal(201)
  })

  it('PATCH /api/tools/{toolId} changes only the fields in the request', async () => {
    const { body: tool } = await create({ name: 'changing' })
    app.clock.advance(1000)
    const { status, body } = await owner.request('PATCH', `/api/tools/${tool.id}`, { enabled: false, title: 'Changed' })
    expect(status).to.equal(200)
    expect(body).to.deep.equal({
      ...tool,
      enabled: false,
      title: 'Changed',
      updatedAt: app.clock.now().toISOString(),
    })
  })

  describe('headers of an HTTP tool', () => {
    const CANARY = 'canary-header-4711'
    const config = { ...QUOTE.config, headers: { 'X-Code': CANARY, 'X-Shop': 'main' } }
    const findRow = (id: string) => app.system.db('tools').where({ id }).first()
    const openHeaders = async (id: string) => {
      const { sealed_headers, tenant_id } = await findRow(id)
      return app.system.secrets.open(sealed_headers, `tool:${tenant_id}:${id}`)
    }
    const update = (id: string, body: object) => owner.request('PATCH', `/api/tools/${id}`, body)

    it('header values of a tool are encrypted at rest and redacted in responses', async () => {
      const { body: tool } = await create({ name: 'sealed', config })
      const responses = [tool, (await owner.request('GET', `/api/tools/${tool.id}`)).body, await listTools(owner)]
      expect(JSON.stringify(responses)).to.not.include(CANARY)
      expect(tool.config.headers).to.deep.equal({ 'X-Code': '[redacted]', 'X-Shop': '[redacted]' })
      const row = await findRow(tool.id)
      expect(JSON.stringify(row) + row.sealed_headers.toString('latin1')).to.not.include(CANARY)
      expect(await openHeaders(tool.id)).to.deep.equal(config.headers)
    })

    it('header values of a tool are kept when they are sent back redacted or other fields change', async () => {
      const { body: tool } = await create({ name: 'kept', config })
      await update(tool.id, { title: 'Other' })
      expect(await openHeaders(tool.id)).to.deep.equal(config.headers)
      const headers = { 'X-Code': '[redacted]', 'X-New': 'new' }
      const changed = await update(tool.id, { config: { ...config, method: 'POST', headers } })
      expect(changed.body.config).to.deep.include({ method: 'POST' })
      expect(await openHeaders(tool.id)).to.deep.equal({ 'X-Code': CANARY, 'X-New': 'new' })
      await update(tool.id, { config: { method: 'GET', url: config.url } })
      expect((await findRow(tool.id)).sealed_headers).to.equal(null)
    })

    it('PATCH /api/tools/{toolId} returns 400 when redacted header values would be sent to another host', async () => {
      const { body: tool } = await create({ name: 'moved', config })
      const otherHost = { ...tool.config, url: 'https://other.example.com/quote' }
      const unknown = { ...config, headers: { 'X-Unknown': '[redacted]' } }
      const responses = [
        await update(tool.id, { config: otherHost }),
        await update(tool.id, { config: unknown }),
        await create({ name: 'new', config: unknown }),
      ]
      expect(responses.map(({ status }) => status)).to.deep.equal([400, 400, 400])
      expect(responses[1]?.body.details[0].path).to.equal('config.headers.X-Unknown')
      expect(await openHeaders(tool.id)).to.deep.equal(config.headers)
    })

    it('header values stored in plain text are redacted in responses and encrypted by the next update', async () => {
      const { body: tool } = await create({ name: 'older', config })
      const plain = { config: JSON.stringify(config), sealed_headers: null }
      await app.system.db('tools').where({ id: tool.id }).update(plain)
      expect((await owner.request('GET', `/api/tools/${tool.id}`)).body.config).to.deep.equal(tool.config)
      await update(tool.id, { title: 'Sealed now' })
      expect(JSON.stringify(await findRow(tool.id))).to.not.include(CANARY)
      expect(await openHeaders(tool.id)).to.deep.equal(config.headers)
    })
  })

  it('DELETE /api/tools/{toolId} deletes an HTTP tool', async () => {
    const { body: tool } = await create({ name: 'leaving' })
    expect((await owner.request('DELETE', `/api/tools/${tool.id}`)).status).to.equal(204)
    const again = await owner.request('DELETE', `/api/tools/${tool.id}`)
    expect([again.status, again.body.error]).to.deep.equal([404, 'Tool not found'])
  })

  it('PATCH and DELETE /api/tools/{toolId} return 409 for a built-in tool', async () => {
    const [builtin] = await listTools(owner)
    for (const [method, body] of [
      ['PATCH', { title: 'Mine' }],
      ['DELETE', undefined],
    ] as const) {
      const response = await owner.request(method, `/api/tools/${builtin.id}`, body)
      expect([response.status, response.body.code]).to.deep.equal([409, 'tool_is_builtin'])
    }
    expect(await errorMessage(app.client(owner).tools.delete.mutate({ toolId: builtin.id }))).to.include('Built-in')
    expect((await listTools(owner))[0]).to.deep.equal(builtin)
  })

  it('POST /api/tools returns 400 for schemas that are not of an object and for invalid fields', async () => {
    const invalid = [
      { inputSchema: { type: 'string' } },
      { outputSchema: {} },
      { inputSchema: [] },
      { inputSchema: { type: 'object', properties: { a: { type: 'colour' } } } },
      { inputSchema: { type: 'object', properties: { a: { type: 'string', pattern: '(?=a)' } } } },
      { outputSchema: { type: 'object', $ref: 'https://schemas.example.com/quote' } },
      { name: 'Get Quote' },
      { name: '1st' },
      { title: '' },
      { effect: 'maybe' },
      { type: 'builtin' },
    ]
    for (const fields of invalid) {
      const { status, body } = await create({ name: 'fine', ...fields })
      expect([status, body.code], JSON.stringify(fields)).to.deep.equal([400, 'validation_failed'])
    }
  })

  it('POST and PATCH /api/tools return 400 for private URLs, other protocols and URLs with credentials', async () => {
    const urls = [
      'ftp://shop.example.com',
      'javascript:alert(1)',
      'file:///etc/passwd',
      '/quote',
      'https://ann:pw@shop.example.com',
    ]
    const privateUrls = [
      'https://localhost/quote',
      'http://10.0.0.8/quote',
      'https://169.254.169.254/',
      'https://db.internal/',
    ]
    for (const url of [...urls, ...privateUrls, 'https://ann@shop.example.com', 'https://']) {
      const { status, body } = await create({ name: 'fine', config: { method: 'GET', url } })
      expect([status, body.details?.[0]?.path], url).to.deep.equal([400, 'config.url'])
    }
    const { body: tool } = await create({ name: 'moving' })
    const moved = await owner.request('PATCH', `/api/tools/${tool.id}`, { config: { method: 'GET', url: urls[0] } })
    expect(moved.status).to.equal(400)
  })

  it('POST /api/tools returns 400 for headers with line breaks or invalid names', async () => {
    for (const headers of [{ 'X-Shop': 'main\r\nHost: other' }, { 'X Shop': 'main' }, { 'X-Shop\r\n': 'main' }]) {
      const { status } = await create({ name: 'fine', config: { ...QUOTE.config, headers } })
      expect(status, JSON.stringify(headers)).to.equal(400)
    }
  })

  it('POST /api/tools accepts 100 headers, and returns 400 with the limit for more', async () => {
    const createWith = (count: number) => {
      const headers = Object.fromEntries(Array.from({ length: count }, (_, n) => [`X-Header-${n}`, 'a']))
      return create({ name: 'many_headers', config: { ...QUOTE.config, headers } })
    }
    const { status, body } = await createWith(101)
    expect(status).to.equal(400)
    expect(JSON.stringify(body)).to.include('must have at most 100 names')
    expect((await createWith(100)).status).to.equal(201)
  })

  it('tools can be read by viewers and agents but changed only by admins', async () => {
    const { body: tool } = await create({ name: 'locked' })
    for (const role of ['viewer', 'agent'] as const) {
      const member = await buildMember(owner, role)
      expect((await member.request('GET', '/api/tools')).status).to.equal(200)
      const responses = [
        await create({ name: 'mine' }, member),
        await member.request('PATCH', `/api/tools/${tool.id}`, { title: 'Mine' }),
        await member.request('DELETE', `/api/tools/${tool.id}`),
      ]
      expect(responses.map(({ status }) => status)).to.deep.equal([403, 403, 403])
    }
  })

  it('/api/tools/{toolId} returns 404 for a tool of another workspace', async () => {
    const { body: tool } = await create({ name: 'private' })
    const path = `/api/tools/${tool.id}`
    const responses = [
      await outsider.request('GET', path),
      await outsider.request('PATCH', path, { title: 'Taken over' }),
      await outsider.request('DELETE', path),
      await outsider.request('GET', '/api/tools/no-uuid'),
    ]
    for (const { status, body } of responses) {
      expect([status, body]).to.deep.equal([
        404,
        { error: 'Tool not found', code: 'not_found', docUrl: '/docs/errors#not_found' },
      ])
    }
    expect((await listTools(outsider)).map(({ name }: any) => name)).to.not.include('private')
    expect(await errorMessage(app.client(outsider).tools.get.query({ toolId: tool.id }))).to.equal('Tool not found')
  })
})
