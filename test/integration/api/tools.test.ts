import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'

const QUOTE = {
  title: 'Get a quote',
  description: 'Asks the shop for the price of an article.',
  inputSchema: { type: 'object', properties: { article: { type: 'string' } }, required: ['article'] },
  outputSchema: { type: 'object', properties: { price: { type: 'number' } } },
  effect: 'read' as const,
  config: { method: 'GET' as const, url: 'https://shop.example.com/quote', headers: { 'X-Shop': 'main' } },
}

/** What is answered of it: the values of headers may be secrets. */
const SHOWN = { ...QUOTE.config, headers: { 'X-Shop': '[redacted]' } }

describe('tools', () => {
  let app: TestApp
  let owner: TestSession
  let stranger: TestSession

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
    stranger = await app.signUp()
  })

  after(() => app.stop())

  const call = (method: string, path: string, body?: object, session = owner) =>
    app.rest(method, path, { session, body })
  const create = (body: object, session = owner) => call('POST', '/api/tools', { ...QUOTE, ...body }, session)
  const listed = async (session: TestSession) => (await call('GET', '/api/tools', undefined, session)).body.items

  it('are the same built-in ones in every workspace, each with schemas of objects', async () => {
    const [mine, theirs] = [await listed(await app.signUp()), await listed(await app.signUp())]
    expect(mine).to.deep.equal(theirs)
    expect(mine.map((tool: any) => tool.name)).to.include.members([
      'contact.get',
      'contact.update',
      'contact.tag',
      'conversation.handoff',
      'conversation.close',
      'message.send',
      'http.request',
      'time.now',
    ])
    for (const tool of mine) {
      expect(tool).to.include({ kind: 'builtin', enabled: true })
      expect([tool.inputSchema.type, tool.outputSchema.type]).to.deep.equal(['object', 'object'])
      expect(['read', 'write', 'external_send']).to.include(tool.effect)
      expect((await call('GET', `/api/tools/${tool.id}`)).body).to.deep.equal(tool)
    }
  })

  it('keeps a tool of its own as it was given, after the built-in ones', async () => {
    const { status, body } = await create({ name: 'quote' })
    expect(status).to.equal(201)
    expect(body).to.deep.include({ ...QUOTE, config: SHOWN, name: 'quote', kind: 'http', enabled: true })
    const { items } = await app.client(owner).tools.list.query({})
    expect(items.filter(({ kind }) => kind === 'http').map(({ name }) => name)).to.deep.equal(['quote'])
    expect(items.at(-1)?.name).to.equal('quote')
  })

  it('has a name once in a workspace, built-in ones included', async () => {
    await create({ name: 'once' })
    const { body: other } = await create({ name: 'other' })
    const taken = [
      await create({ name: 'once' }),
      await create({ name: 'time.now' }),
      await call('PATCH', `/api/tools/${other.id}`, { name: 'once' }),
      await call('PATCH', `/api/tools/${other.id}`, { name: 'time.now' }),
    ]
    for (const { status, body } of taken) expect([status, body.code]).to.deep.equal([409, 'name_taken'])
    expect((await create({ name: 'once' }, stranger)).status).to.equal(201)
  })

  it('changes what is given and leaves the rest', async () => {
    const { body: tool } = await create({ name: 'changing' })
    app.clock.advance(1000)
    const { status, body } = await call('PATCH', `/api/tools/${tool.id}`, { enabled: false, title: 'Changed' })
    expect(status).to.equal(200)
    expect(body).to.deep.equal({
      ...tool,
      enabled: false,
      title: 'Changed',
      updatedAt: app.clock.now().toISOString(),
    })
  })

  describe('the headers of one', () => {
    const CANARY = 'canary-header-4711'
    const config = { ...QUOTE.config, headers: { Authorization: CANARY, 'X-Shop': 'main' } }
    const rowOf = (id: string) => app.system.db('tools').where({ id }).first()
    const headersOf = async (id: string) => {
      const { sealed_headers, tenant_id } = await rowOf(id)
      return app.system.secrets.open(sealed_headers, `tool:${tenant_id}:${id}`)
    }
    const change = (id: string, body: object) => call('PATCH', `/api/tools/${id}`, body)

    it('are stored sealed, and shown by their names alone', async () => {
      const { body: tool } = await create({ name: 'sealed', config })
      const answers = [tool, (await call('GET', `/api/tools/${tool.id}`)).body, await listed(owner)]
      expect(JSON.stringify(answers)).to.not.include(CANARY)
      expect(tool.config.headers).to.deep.equal({ Authorization: '[redacted]', 'X-Shop': '[redacted]' })
      const row = await rowOf(tool.id)
      expect(JSON.stringify(row) + row.sealed_headers.toString('latin1')).to.not.include(CANARY)
      expect(await headersOf(tool.id)).to.deep.equal(config.headers)
    })

    it('stay when they are given back as they are shown, and when something else changes', async () => {
      const { body: tool } = await create({ name: 'kept', config })
      await change(tool.id, { title: 'Other' })
      expect(await headersOf(tool.id)).to.deep.equal(config.headers)
      const headers = { Authorization: '[redacted]', 'X-New': 'new' }
      const changed = await change(tool.id, { config: { ...config, method: 'POST', headers } })
      expect(changed.body.config).to.deep.include({ method: 'POST' })
      expect(await headersOf(tool.id)).to.deep.equal({ Authorization: CANARY, 'X-New': 'new' })
      await change(tool.id, { config: { method: 'GET', url: config.url } })
      expect((await rowOf(tool.id)).sealed_headers).to.equal(null)
    })

    it('go to no other host unless they are known', async () => {
      const { body: tool } = await create({ name: 'stolen', config })
      const thief = { ...tool.config, url: 'https://thief.example.com/quote' }
      const unknown = { ...config, headers: { 'X-Unknown': '[redacted]' } }
      const refused = [
        await change(tool.id, { config: thief }),
        await change(tool.id, { config: unknown }),
        await create({ name: 'new', config: unknown }),
      ]
      expect(refused.map(({ status }) => status)).to.deep.equal([400, 400, 400])
      expect(refused[1]?.body.details[0].path).to.equal('config.headers.X-Unknown')
      expect(await headersOf(tool.id)).to.deep.equal(config.headers)
    })

    it('of a row from before are shown by their names, and sealed when it is next written', async () => {
      const { body: tool } = await create({ name: 'older', config })
      const plain = { config: JSON.stringify(config), sealed_headers: null }
      await app.system.db('tools').where({ id: tool.id }).update(plain)
      expect((await call('GET', `/api/tools/${tool.id}`)).body.config).to.deep.equal(tool.config)
      await change(tool.id, { title: 'Sealed now' })
      expect(JSON.stringify(await rowOf(tool.id))).to.not.include(CANARY)
      expect(await headersOf(tool.id)).to.deep.equal(config.headers)
    })
  })

  it('deletes a tool of its own', async () => {
    const { body: tool } = await create({ name: 'leaving' })
    expect((await call('DELETE', `/api/tools/${tool.id}`)).status).to.equal(204)
    const again = await call('DELETE', `/api/tools/${tool.id}`)
    expect([again.status, again.body.error]).to.deep.equal([404, 'Tool not found'])
  })

  it('never changes a built-in tool', async () => {
    const [builtin] = await listed(owner)
    for (const [method, body] of [
      ['PATCH', { title: 'Mine' }],
      ['DELETE', undefined],
    ] as const) {
      const answer = await call(method, `/api/tools/${builtin.id}`, body)
      expect([answer.status, answer.body.code]).to.deep.equal([409, 'tool_is_builtin'])
    }
    expect(await errorMessage(app.client(owner).tools.delete.mutate({ id: builtin.id }))).to.include('built-in')
    expect((await listed(owner))[0]).to.deep.equal(builtin)
  })

  it('refuses schemas of anything but an object, and names that are none', async () => {
    const wrong = [
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
      { kind: 'builtin' },
    ]
    for (const fields of wrong) {
      const { status, body } = await create({ name: 'fine', ...fields })
      expect([status, body.code], JSON.stringify(fields)).to.deep.equal([400, 'validation_failed'])
    }
  })

  it('refuses addresses it could not call, and those that carry credentials', async () => {
    const urls = [
      'ftp://shop.example.com',
      'javascript:alert(1)',
      'file:///etc/passwd',
      '/quote',
      'https://ann:pw@shop.example.com',
    ]
    const inside = [
      'https://localhost/quote',
      'http://10.0.0.8/quote',
      'https://169.254.169.254/',
      'https://db.internal/',
    ]
    for (const url of [...urls, ...inside, 'https://ann@shop.example.com', 'https://']) {
      const { status, body } = await create({ name: 'fine', config: { method: 'GET', url } })
      expect([status, body.details?.[0]?.path], url).to.deep.equal([400, 'config.url'])
    }
    const { body: tool } = await create({ name: 'moving' })
    const moved = await call('PATCH', `/api/tools/${tool.id}`, { config: { method: 'GET', url: urls[0] } })
    expect(moved.status).to.equal(400)
  })

  it('refuses headers that would end a line and begin another', async () => {
    for (const headers of [{ 'X-Shop': 'main\r\nHost: other' }, { 'X Shop': 'main' }, { 'X-Shop\r\n': 'main' }]) {
      const { status } = await create({ name: 'fine', config: { ...QUOTE.config, headers } })
      expect(status, JSON.stringify(headers)).to.equal(400)
    }
  })

  it('lets viewers and agents look, and only admins change', async () => {
    const { body: tool } = await create({ name: 'locked' })
    for (const role of ['viewer', 'agent'] as const) {
      const session = await app.join(owner.tenantId, role)
      expect((await call('GET', '/api/tools', undefined, session)).status).to.equal(200)
      const refused = [
        await create({ name: 'mine' }, session),
        await call('PATCH', `/api/tools/${tool.id}`, { title: 'Mine' }, session),
        await call('DELETE', `/api/tools/${tool.id}`, undefined, session),
      ]
      expect(refused.map(({ status }) => status)).to.deep.equal([403, 403, 403])
    }
  })

  it("does not see another workspace's tool", async () => {
    const { body: tool } = await create({ name: 'private' })
    const path = `/api/tools/${tool.id}`
    const answers = [
      await call('GET', path, undefined, stranger),
      await call('PATCH', path, { title: 'Taken over' }, stranger),
      await call('DELETE', path, undefined, stranger),
      await call('GET', '/api/tools/no-uuid', undefined, stranger),
    ]
    for (const { status, body } of answers) {
      expect([status, body]).to.deep.equal([404, { error: 'Tool not found', code: 'not_found' }])
    }
    expect((await listed(stranger)).map(({ name }: any) => name)).to.not.include('private')
    expect(await errorMessage(app.client(stranger).tools.get.query({ id: tool.id }))).to.equal('Tool not found')
  })
})
