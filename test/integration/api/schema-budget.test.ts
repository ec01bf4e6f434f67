import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { Customer } from '../../support/customer.ts'
import { FakeAi } from '../../support/fake-ai.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import { doublingSchema, endlessSchema, patternSchema, UNIQUE_ITEMS } from '../../support/expensive-schemas.ts'

const OBJECT = { type: 'object' }
const OBJECTS = { items: Array.from({ length: 15_000 }, (_, index) => ({ index })) }

const toolWith = (fields: object) => ({
  name: 'shop.list',
  title: 'List articles',
  description: 'Lists the articles of the shop.',
  inputSchema: OBJECT,
  outputSchema: OBJECT,
  effect: 'read',
  config: { method: 'POST', url: 'https://shop.example.com/articles' },
  ...fields,
})

describe('budget of JSON Schema checks', () => {
  let app: TestApp
  let owner: TestSession
  let other: TestSession
  let server: ScriptedServer
  let ai: FakeAi

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    server = await ScriptedServer.start()
    ai = await FakeAi.start()
    owner = await app.signUp()
    other = await app.signUp()
  })

  after(async () => {
    await ai.stop()
    await server.stop()
    await app.stop()
  })

  const post = (body: object, session = owner) => app.rest('POST', '/api/tools', { session, body })

  describe('POST /api/tools', () => {
    const attacks = {
      'definitions that refer to the next one twice, 22 deep': doublingSchema(22),
      'definitions that refer to the next one twice, 29 deep': doublingSchema(29),
      'sixty expensive patterns': patternSchema(60),
    }
    for (const [attack, schema] of Object.entries(attacks)) {
      for (const field of ['inputSchema', 'outputSchema']) {
        it(`returns 422 budget_exceeded for ${attack} in ${field}`, async () => {
          const { status, body } = await post(toolWith({ [field]: schema }))
          expect([status, body.code]).to.deep.equal([422, 'budget_exceeded'])
          expect(body.error).to.include('JSON Schema')
        })
      }
    }

    it('returns 400 for a schema that refers to itself without end', async () => {
      const { status, body } = await post(toolWith({ inputSchema: endlessSchema }))
      expect([status, body.code, body.details[0].path]).to.deep.equal([400, 'validation_failed', 'inputSchema'])
      expect(body.error).to.include('without end')
    })

    it('lets other requests and other workspaces through while a schema uses up its budget', async () => {
      // Both threads exist, as on a server that is in use.
      await Promise.all([owner, other].map((session) => post(toolWith({ name: 'warm.up' }), session)))
      const order: string[] = []
      const attack = post(toolWith({ inputSchema: doublingSchema(29) })).then(() => order.push('attack'))
      await app.rest('GET', '/api/contacts', { session: owner }).then(() => order.push('read'))
      const { status } = await post(toolWith({ name: 'shop.other' }), other)
      order.push('tool of another workspace')
      await attack
      expect(status).to.equal(201)
      expect(order).to.deep.equal(['read', 'tool of another workspace', 'attack'])
    })
  })

  describe('PATCH /api/tools/{id}', () => {
    it('returns 422 budget_exceeded for an expensive schema and keeps the tool', async () => {
      const { body: tool } = await post(toolWith({ name: 'shop.change' }))
      const path = `/api/tools/${tool.id}`
      const changed = await app.rest('PATCH', path, { session: owner, body: { outputSchema: doublingSchema(29) } })
      expect([changed.status, changed.body.code]).to.deep.equal([422, 'budget_exceeded'])
      expect((await app.rest('GET', path, { session: owner })).body).to.deep.equal(tool)
    })
  })

  describe('tool step', () => {
    const useTool = async (fields: object) => {
      const step = { id: 'use', type: 'tool', tool: 'shop.list', input: { items: {} } }
      const config = { method: 'POST', url: `${server.url}/articles` }
      const customer = await Customer.create(app, [step], (prepared) =>
        prepared.call('POST', '/tools', toolWith({ config, ...fields })),
      )
      await customer.send()
      await app.work()
      return (await customer.run()).error.code
    }

    it('fails with budget_exceeded when the output is too expensive to check', async () => {
      server.replyWith(json(OBJECTS))
      expect(await useTool({ outputSchema: UNIQUE_ITEMS })).to.equal('budget_exceeded')
    })

    it('fails with budget_exceeded before it calls the tool when the input is too expensive to check', async () => {
      server.replyWith(json({}))
      const inputSchema = { ...OBJECT, properties: { items: doublingSchema(29, '#/properties/items') } }
      expect(await useTool({ inputSchema })).to.equal('budget_exceeded')
      expect(server.calls).to.have.length(0)
    })
  })

  describe('ai step', () => {
    it('fails with budget_exceeded when its output is too expensive to check', async () => {
      ai.replyWith({ say: JSON.stringify(OBJECTS) })
      const step = { id: 'ask', type: 'ai', instructions: 'List the articles', output: UNIQUE_ITEMS }
      const provider = { baseUrl: ai.baseUrl, model: 'small-1', apiKey: 'canary-key-4711' }
      const customer = await Customer.create(app, [step], (prepared) => prepared.call('PUT', '/ai-provider', provider))
      await customer.send()
      await app.work()
      expect((await customer.run()).error.code).to.equal('budget_exceeded')
    })
  })
})
