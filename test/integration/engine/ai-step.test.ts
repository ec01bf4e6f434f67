import { expect } from 'chai'
import { LEASE_MS } from '../../../src/features/external-calls/claim-calls.ts'
import { enqueueDueCalls } from '../../../src/features/external-calls/enqueue-due-calls.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { Customer } from '../../support/customer.ts'
import { FakeAi } from '../../support/fake-ai.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { say } from '../../support/steps.ts'

const ask = (fields: object = {}) => ({ id: 'ask', type: 'ai', instructions: 'Be kind to {{contact.name}}', ...fields })
const RETRY = { max: 2, backoff: 'fixed', delay: '10s' }
const MOOD = {
  type: 'object',
  properties: { mood: { type: 'string', enum: ['good', 'bad'] } },
  required: ['mood'],
  additionalProperties: false,
}

describe('an AI step', () => {
  let app: TestApp
  let ai: FakeAi

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  beforeEach(async () => {
    ai = await FakeAi.start()
  })

  afterEach(() => ai.stop())

  after(() => app.stop())

  const provide = (customer: Customer) =>
    customer.rest('PUT', '/ai-provider', { baseUrl: ai.baseUrl, model: 'small-1', apiKey: 'canary-key-4711' })

  const withAi = (steps: object[], prepare?: (customer: Customer) => Promise<unknown>) =>
    Customer.of(app, steps, async (customer) => {
      await provide(customer)
      await prepare?.(customer)
    })

  /** What becomes of a workflow with these steps when a customer writes. */
  async function played(steps: object[], prepare?: (customer: Customer) => Promise<unknown>): Promise<Customer> {
    const customer = await withAi(steps, prepare)
    await customer.write()
    await app.work()
    return customer
  }

  const tagsOf = async (customer: Customer) =>
    (await customer.contact()).tags.map(({ name }: { name: string }) => name) as string[]

  it('answers the customer in the words of the model, and records what it took', async () => {
    ai.will({ say: 'Hello Ana! Braces {{contact.phone}} stay.' })
    const customer = await played([ask({ reply: true })])
    expect(await customer.sent()).to.deep.equal(['Hello Ana! Braces {{contact.phone}} stay.'])
    const [{ path, authorization, body } = expect.fail('nobody was asked')] = ai.asked
    expect([path, authorization, body.model]).to.deep.equal([
      '/v1/chat/completions',
      'Bearer canary-key-4711',
      'small-1',
    ])
    expect(body.messages).to.deep.equal([
      { role: 'system', content: 'Be kind to Ana' },
      { role: 'user', content: 'hello' },
    ])
    const run = await customer.run()
    expect([run.status, run.messagesSent]).to.deep.equal(['completed', 1])
    const [step] = run.steps
    expect(step).to.deep.include({ type: 'ai', status: 'completed', delivery: 'delivered' })
    expect(step.input).to.deep.include({ instructions: 'Be kind to Ana', model: null, tools: [] })
    expect(step.output).to.deep.equal({
      text: 'Hello Ana! Braces {{contact.phone}} stay.',
      json: null,
      toolCalls: [],
      turns: 1,
      usage: { promptTokens: 10, completionTokens: 2 },
    })
    expect(JSON.stringify(run)).to.not.contain('canary-key-4711')
  })

  it('tells the model as much of the conversation as it is asked to', async () => {
    const customer = await withAi([ask({ history: 3, reply: true, model: 'large-1' })])
    ai.will({ say: 'A1' }, { say: 'A2' })
    for (const body of ['Q1', 'Q2', 'Q3']) {
      await customer.write(body)
      await app.work()
      app.clock.advance(SECOND)
    }
    expect(ai.asked.map(({ body }) => body.model)).to.deep.equal(['large-1', 'large-1', 'large-1'])
    expect(ai.asked[2]?.body.messages.slice(1)).to.deep.equal([
      { role: 'user', content: 'Q2' },
      { role: 'assistant', content: 'A2' },
      { role: 'user', content: 'Q3' },
    ])
    await played([ask({ history: 0 })])
    expect(ai.asked[3]?.body.messages).to.deep.equal([{ role: 'user', content: 'Be kind to Ana' }])
  })

  it('gives a result of the shape that is asked for, and fails with any other', async () => {
    ai.will({ say: '```json\n{"mood":"good"}\n```' })
    const told = await played([ask({ output: MOOD }), say('tell', '{{steps.ask.output.json.mood}}')])
    expect(await told.sent()).to.deep.equal(['good'])
    expect(ai.asked[0]?.body.response_format).to.deep.equal({
      type: 'json_schema',
      json_schema: { name: 'result', schema: MOOD },
    })
    for (const wrong of ['{"mood":"so so"}', '{"mood":"good","more":1}', 'good', '']) {
      ai.will({ say: wrong })
      const customer = await played([ask({ output: MOOD })])
      expect((await customer.run()).error.code, wrong).to.equal('invalid_ai_output')
    }
  })

  it('asks again for a result until it has the shape', async () => {
    ai.will({ say: '{}' }, { say: '{"mood":"bad"}' })
    const customer = await played([ask({ output: MOOD, retry: RETRY })])
    app.clock.advance(10 * SECOND)
    await app.work()
    const { status, steps } = await customer.run()
    expect([status, steps[0].attempt, steps[0].output.json]).to.deep.equal(['completed', 2, { mood: 'bad' }])
  })

  describe('with tools', () => {
    it('makes the calls that the model asks for, and tells it what they gave', async () => {
      const shop = await ScriptedServer.start()
      shop.play(json({ price: 12 }))
      const quote = {
        name: 'shop.quote',
        title: 'Get a quote',
        description: 'Asks the shop for a price.',
        inputSchema: { type: 'object', properties: { article: { type: 'string' } }, required: ['article'] },
        outputSchema: { type: 'object' },
        effect: 'read',
        config: { method: 'GET', url: `${shop.url}/quote` },
      }
      ai.will(
        {
          call: [
            ['shop-quote', { article: 'hat' }],
            ['contact-tag', { tags: ['buyer'] }],
          ],
        },
        { say: 'It is 12' },
      )
      const tools = ['shop.quote', 'contact.tag']
      const customer = await played([ask({ tools, reply: true })], (one) => one.rest('POST', '/tools', quote))
      await shop.stop()
      expect([await customer.sent(), await tagsOf(customer)]).to.deep.equal([['It is 12'], ['buyer']])
      expect(shop.calls.map(({ url }) => url)).to.deep.equal(['/quote?article=hat'])
      const told = ai.asked[1]?.body.messages.slice(2) ?? []
      expect(told.map(({ role, tool_call_id }) => [role, tool_call_id])).to.deep.equal([
        ['assistant', undefined],
        ['tool', 'call-1'],
        ['tool', 'call-2'],
      ])
      expect(JSON.parse(told[1]?.content ?? '')).to.deep.equal({ price: 12 })
      const { output } = (await customer.run()).steps[0]
      expect([output.turns, output.usage]).to.deep.equal([2, { promptTokens: 20, completionTokens: 4 }])
      expect(output.toolCalls).to.have.length(2)
      expect(output.toolCalls[0]).to.deep.equal({
        tool: 'shop.quote',
        input: { article: 'hat' },
        output: { price: 12 },
      })
      expect(output.toolCalls[1]).to.deep.include({ tool: 'contact.tag', input: { tags: ['buyer'] } })
    })

    it('lets the model act on the contact and conversation of the run alone', async () => {
      const victim = await withAi([say('hi', 'Hi')])
      ai.will({ call: [['contact-update', { contactId: victim.contactId, name: 'Changed' }]] }, { say: 'Done' })
      const customer = await withAi([ask({ tools: ['contact.update'] })])
      const other = await customer.rest('POST', '/contacts', { name: 'Other', phone: '+4915399999999' })
      await customer.write()
      await app.work()
      const { parameters } = ai.asked[0]?.body.tools?.[0]?.function ?? expect.fail('no tool was told of')
      expect(parameters['properties']).to.not.have.property('contactId')
      expect(parameters['required']).to.deep.equal([])
      expect((await customer.contact()).name).to.equal('Changed')
      expect((await customer.rest('GET', `/contacts/${other.id}`)).name).to.equal('Other')
      expect((await victim.contact()).name).to.equal('Ana')
    })

    it('tells the model what cannot be done, and lets it go on', async () => {
      ai.will(
        {
          call: [
            ['conversation-close', {}],
            ['contact-tag', { tags: 'none' }],
            ['contact-tag', 'no JSON'],
          ],
        },
        { say: 'Sorry' },
      )
      const customer = await played([ask({ tools: ['contact.tag'], reply: true })])
      const { output } = (await customer.run()).steps[0]
      expect(output.toolCalls.map(({ error }: { error: { code: string } }) => error.code)).to.deep.equal([
        'unknown_tool',
        'invalid_tool_input',
        'invalid_tool_input',
      ])
      expect(await customer.sent()).to.deep.equal(['Sorry'])
      expect((await customer.conversation()).status).to.equal('active')
    })

    it('ends with a model that only ever asks for more', async () => {
      ai.will(...Array.from({ length: 5 }, () => ({ call: [['time-now', {}]] as [string, unknown][] })))
      const customer = await played([ask({ tools: ['time.now'], maxTurns: 2, retry: RETRY })])
      const { error, steps } = await customer.run()
      expect([error.code, steps[0].attempt, ai.asked.length]).to.deep.equal(['turn_limit', 1, 2])
    })

    it('fails before it asks when a tool is switched off', async () => {
      const tool = { title: 'T', description: 'D', inputSchema: { type: 'object' }, outputSchema: { type: 'object' } }
      const config = { method: 'GET', url: 'https://shop.example.com' }
      let id = ''
      const customer = await withAi([ask({ tools: ['mine'] })], async (one) => {
        id = (await one.rest('POST', '/tools', { ...tool, name: 'mine', effect: 'read', config })).id
      })
      await customer.rest('PATCH', `/tools/${id}`, { enabled: false })
      await customer.write()
      await app.work()
      expect([(await customer.run()).error.code, ai.asked.length]).to.deep.equal(['tool_disabled', 0])
    })
  })

  describe('that cannot be done at once', () => {
    it('goes on in the next attempt where the last one stopped, and changes nothing twice', async () => {
      ai.will({ call: [['message-send', { body: 'One moment' }]] }, { status: 503 }, { status: 429 }, { say: 'Here' })
      const customer = await played([ask({ tools: ['message.send'], reply: true, retry: RETRY })])
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        expect((await customer.run()).steps[0]).to.deep.include({ status: 'waiting', attempt })
        app.clock.advance(10 * SECOND)
        await app.work()
      }
      expect(await customer.sent()).to.deep.equal(['One moment', 'Here'])
      const { status, steps } = await customer.run()
      expect([status, steps[0].attempt, steps[0].output.toolCalls.length]).to.deep.equal(['completed', 3, 1])
      expect(ai.asked).to.have.length(4)
      expect(await app.system.db('ai_transcripts').where({ tenant_id: customer.owner.tenantId })).to.deep.equal([])
    })

    it('is taken over from a worker that fell silent, and changes nothing twice', async () => {
      let wake: (answer: { say: string }) => void = () => undefined
      const silent = new Promise<{ say: string }>((resolve) => (wake = resolve))
      ai.will({ call: [['message-send', { body: 'Once' }]] }, silent, { say: 'From the second' })
      const customer = await withAi([ask({ tools: ['message.send'], reply: true })])
      await customer.write()
      await waitUntil(() => ai.asked.length === 2)
      expect(await customer.sent()).to.deep.equal(['Once'])

      app.clock.advance(LEASE_MS)
      await enqueueDueCalls(app.system)
      await waitUntil(async () => (await customer.sent()).length === 2)
      wake({ say: 'From the first' })
      await app.work()
      expect(await customer.sent()).to.deep.equal(['Once', 'From the second'])
      expect([(await customer.run()).status, ai.asked.length]).to.deep.equal(['completed', 3])
      const [asking, told] = ai.asked[2]?.body.messages.slice(-2) ?? []
      expect([asking?.tool_calls?.length, told?.role], 'the second is told what the first did').to.deep.equal([
        1,
        'tool',
      ])
    })

    it('fails for good where the provider refuses, and tells no key', async () => {
      for (const status of [400, 401]) {
        ai.will({ status, error: 'Incorrect key: canary-key-4711' })
        const customer = await played([ask({ retry: RETRY })])
        const run = await customer.run()
        expect([run.error.code, run.steps[0].attempt]).to.deep.equal(['ai_refused', 1])
        expect(run.error.message).to.contain(`status ${status}: Incorrect key: [redacted]`)
      }
    })

    it('tries again with a provider that is away, or makes no sense', async () => {
      ai.will({ raw: '<h1>Gateway</h1>' }, { raw: '{"choices":[]}' }, { say: 'Fine' })
      const customer = await played([ask({ reply: true, retry: RETRY })])
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        expect((await customer.run()).steps[0].error.code).to.equal('invalid_ai_answer')
        app.clock.advance(10 * SECOND)
        await app.work()
      }
      expect(await customer.sent()).to.deep.equal(['Fine'])
      const away = await withAi([ask()])
      await away.rest('PUT', '/ai-provider', { baseUrl: 'http://127.0.0.1:9/v1', model: 'm', apiKey: null })
      await away.write()
      await app.work()
      expect((await away.run()).error.code).to.equal('unreachable')
    })

    it('ends when its time is over', async () => {
      ai.will(new Promise(() => undefined))
      const customer = await played([ask({ timeout: '1s' })])
      expect((await customer.run()).error.code).to.equal('timed_out')
    })
  })

  describe('without a provider', () => {
    it('is warned of at publish, and fails', async () => {
      const customer = await Customer.of(app, [ask()])
      const definition = { version: 1, triggers: [{ type: 'manual' }], steps: [ask()] }
      const codesOf = async () => {
        const { errors, warnings } = await customer.rest('POST', '/workflows/validate', { definition })
        return [...errors, ...warnings].map(({ code }: { code: string }) => code)
      }
      expect(await codesOf()).to.deep.equal(['no_ai_provider'])
      await customer.write()
      await app.work()
      expect((await customer.run()).error.code).to.equal('no_ai_provider')
      await provide(customer)
      expect(await codesOf()).to.deep.equal([])
    })
  })

  it('is refused where it could not work', async () => {
    const customer = await withAi([say('hi', 'Hi')])
    const wrong: [object, string][] = [
      [{ output: { type: 'string' } }, 'steps.0.output'],
      [{ output: { type: 'object', properties: { a: { type: 'colour' } } } }, 'steps.0.output'],
      [{ output: MOOD, reply: true }, 'steps.0.reply'],
      [{ tools: ['nowhere'] }, 'steps.0.tools.0'],
      [{ tools: ['time.now', 'time.now'] }, 'steps.0.tools'],
      [{ history: 101 }, 'steps.0.history'],
      [{ maxTurns: 0 }, 'steps.0.maxTurns'],
    ]
    for (const [fields, path] of wrong) {
      const definition = { version: 1, triggers: [{ type: 'manual' }], steps: [ask(fields)] }
      const { errors } = await customer.rest('POST', '/workflows/validate', { definition })
      expect(
        errors.map((error: { path: string }) => error.path),
        JSON.stringify(fields),
      ).to.deep.equal([path])
    }
  })
})
