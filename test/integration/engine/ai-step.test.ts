import { expect } from 'chai'
import { enqueueDueCalls, LEASE_MS } from '../../../src/features/external-calls/call-queue.ts'
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

describe('ai step', () => {
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

  const configureProvider = (customer: Customer) =>
    customer.call('PUT', '/ai-provider', { baseUrl: ai.baseUrl, model: 'small-1', apiKey: 'canary-key-4711' })

  const createCustomerWithAi = (steps: object[], prepare?: (customer: Customer) => Promise<unknown>) =>
    Customer.create(app, steps, async (customer) => {
      await configureProvider(customer)
      await prepare?.(customer)
    })

  /** Publishes a workflow with the steps and processes one message of the customer. */
  async function runWorkflow(steps: object[], prepare?: (customer: Customer) => Promise<unknown>): Promise<Customer> {
    const customer = await createCustomerWithAi(steps, prepare)
    await customer.send()
    await app.work()
    return customer
  }

  const listTags = async (customer: Customer) =>
    (await customer.contact()).tags.map(({ name }: { name: string }) => name) as string[]

  it("sends the model's reply to the customer and records input, output and token usage", async () => {
    ai.replyWith({ say: 'Hello Ana! Braces {{contact.phone}} stay.' })
    const customer = await runWorkflow([ask({ reply: true })])
    expect(await customer.sent()).to.deep.equal(['Hello Ana! Braces {{contact.phone}} stay.'])
    const [{ path, authorization, body } = expect.fail('the model was not called')] = ai.requests
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
    expect([run.status, run.sentMessageCount]).to.deep.equal(['completed', 1])
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

  it('sends the model the number of messages that history sets', async () => {
    const customer = await createCustomerWithAi([ask({ history: 3, reply: true, model: 'large-1' })])
    ai.replyWith({ say: 'A1' }, { say: 'A2' })
    for (const body of ['Q1', 'Q2', 'Q3']) {
      await customer.send(body)
      await app.work()
      app.clock.advance(SECOND)
    }
    expect(ai.requests.map(({ body }) => body.model)).to.deep.equal(['large-1', 'large-1', 'large-1'])
    expect(ai.requests[2]?.body.messages.slice(1)).to.deep.equal([
      { role: 'user', content: 'Q2' },
      { role: 'assistant', content: 'A2' },
      { role: 'user', content: 'Q3' },
    ])
    await runWorkflow([ask({ history: 0 })])
    expect(ai.requests[3]?.body.messages).to.deep.equal([{ role: 'user', content: 'Be kind to Ana' }])
  })

  it('returns a result that matches the output schema and fails with invalid_ai_output otherwise', async () => {
    ai.replyWith({ say: '```json\n{"mood":"good"}\n```' })
    const customer = await runWorkflow([ask({ output: MOOD }), say('answer', '{{steps.ask.output.json.mood}}')])
    expect(await customer.sent()).to.deep.equal(['good'])
    expect(ai.requests[0]?.body.response_format).to.deep.equal({
      type: 'json_schema',
      json_schema: { name: 'result', schema: MOOD },
    })
    for (const output of ['{"mood":"so so"}', '{"mood":"good","more":1}', 'good', '']) {
      ai.replyWith({ say: output })
      const customer = await runWorkflow([ask({ output: MOOD })])
      expect((await customer.run()).error.code, output).to.equal('invalid_ai_output')
    }
  })

  it('retries until the result matches the output schema', async () => {
    ai.replyWith({ say: '{}' }, { say: '{"mood":"bad"}' })
    const customer = await runWorkflow([ask({ output: MOOD, retry: RETRY })])
    app.clock.advance(10 * SECOND)
    await app.work()
    const { status, steps } = await customer.run()
    expect([status, steps[0].attempt, steps[0].output.json]).to.deep.equal(['completed', 2, { mood: 'bad' }])
  })

  describe('with tools', () => {
    it("executes the model's tool calls, sends it their results and records them", async () => {
      const shop = await ScriptedServer.start()
      shop.replyWith(json({ price: 12 }))
      const quote = {
        name: 'shop.quote',
        title: 'Get a quote',
        description: 'Asks the shop for a price.',
        inputSchema: { type: 'object', properties: { article: { type: 'string' } }, required: ['article'] },
        outputSchema: { type: 'object' },
        effect: 'read',
        config: { method: 'GET', url: `${shop.url}/quote` },
      }
      ai.replyWith(
        {
          call: [
            ['shop-quote', { article: 'hat' }],
            ['contact-tag', { tags: ['buyer'] }],
          ],
        },
        { say: 'It is 12' },
      )
      const tools = ['shop.quote', 'contact.tag']
      const customer = await runWorkflow([ask({ tools, reply: true })], (one) => one.call('POST', '/tools', quote))
      await shop.stop()
      expect([await customer.sent(), await listTags(customer)]).to.deep.equal([['It is 12'], ['buyer']])
      expect(shop.calls.map(({ url }) => url)).to.deep.equal(['/quote?article=hat'])
      const messages = ai.requests[1]?.body.messages.slice(2) ?? []
      expect(messages.map(({ role, tool_call_id }) => [role, tool_call_id])).to.deep.equal([
        ['assistant', undefined],
        ['tool', 'call-1'],
        ['tool', 'call-2'],
      ])
      expect(JSON.parse(messages[1]?.content ?? '')).to.deep.equal({ price: 12 })
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

    it("restricts the model's tool calls to the contact and conversation of the run", async () => {
      const otherWorkspace = await createCustomerWithAi([say('hi', 'Hi')])
      ai.replyWith(
        { call: [['contact-update', { contactId: otherWorkspace.contactId, name: 'Changed' }]] },
        { say: 'Done' },
      )
      const customer = await createCustomerWithAi([ask({ tools: ['contact.update'] })])
      const other = await customer.call('POST', '/contacts', { name: 'Other', phone: '+4915399999999' })
      await customer.send()
      await app.work()
      const { parameters } = ai.requests[0]?.body.tools?.[0]?.function ?? expect.fail('the request offers no tool')
      expect(parameters['properties']).to.not.have.property('contactId')
      expect(parameters['required']).to.deep.equal([])
      expect((await customer.contact()).name).to.equal('Changed')
      expect((await customer.call('GET', `/contacts/${other.id}`)).name).to.equal('Other')
      expect((await otherWorkspace.contact()).name).to.equal('Ana')
    })

    it('returns an error to the model for each invalid tool call and continues', async () => {
      ai.replyWith(
        {
          call: [
            ['conversation-close', {}],
            ['contact-tag', { tags: 'none' }],
            ['contact-tag', 'no JSON'],
          ],
        },
        { say: 'Sorry' },
      )
      const customer = await runWorkflow([ask({ tools: ['contact.tag'], reply: true })])
      const { output } = (await customer.run()).steps[0]
      expect(output.toolCalls.map(({ error }: { error: { code: string } }) => error.code)).to.deep.equal([
        'unknown_tool',
        'invalid_tool_input',
        'invalid_tool_input',
      ])
      expect(await customer.sent()).to.deep.equal(['Sorry'])
      expect((await customer.conversation()).status).to.equal('active')
    })

    it('fails with turn_limit when the model still calls tools after maxTurns', async () => {
      ai.replyWith(...Array.from({ length: 5 }, () => ({ call: [['time-now', {}]] as [string, unknown][] })))
      const customer = await runWorkflow([ask({ tools: ['time.now'], maxTurns: 2, retry: RETRY })])
      const { error, steps } = await customer.run()
      expect([error.code, steps[0].attempt, ai.requests.length]).to.deep.equal(['turn_limit', 1, 2])
    })

    it('fails with tool_disabled before it calls the model when a tool is disabled', async () => {
      const tool = { title: 'T', description: 'D', inputSchema: { type: 'object' }, outputSchema: { type: 'object' } }
      const config = { method: 'GET', url: 'https://shop.example.com' }
      let id = ''
      const customer = await createCustomerWithAi([ask({ tools: ['mine'] })], async (one) => {
        id = (await one.call('POST', '/tools', { ...tool, name: 'mine', effect: 'read', config })).id
      })
      await customer.call('PATCH', `/tools/${id}`, { enabled: false })
      await customer.send()
      await app.work()
      expect([(await customer.run()).error.code, ai.requests.length]).to.deep.equal(['tool_disabled', 0])
    })
  })

  describe('with failed or interrupted attempts', () => {
    it('resumes after the tool calls of the failed attempt without repeating them', async () => {
      ai.replyWith(
        { call: [['message-send', { body: 'One moment' }]] },
        { status: 503 },
        { status: 429 },
        { say: 'Here' },
      )
      const customer = await runWorkflow([ask({ tools: ['message.send'], reply: true, retry: RETRY })])
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        expect((await customer.run()).steps[0]).to.deep.include({ status: 'waiting', attempt })
        app.clock.advance(10 * SECOND)
        await app.work()
      }
      expect(await customer.sent()).to.deep.equal(['One moment', 'Here'])
      const { status, steps } = await customer.run()
      expect([status, steps[0].attempt, steps[0].output.toolCalls.length]).to.deep.equal(['completed', 3, 1])
      expect(ai.requests).to.have.length(4)
      expect(await app.system.db('ai_transcripts').where({ tenant_id: customer.workspace.tenantId })).to.deep.equal([])
    })

    it('is resumed by another worker after the lease expires without repeating tool calls', async () => {
      let answerFirst: (answer: { say: string }) => void = () => undefined
      const firstAnswer = new Promise<{ say: string }>((resolve) => (answerFirst = resolve))
      ai.replyWith({ call: [['message-send', { body: 'Once' }]] }, firstAnswer, { say: 'From the second' })
      const customer = await createCustomerWithAi([ask({ tools: ['message.send'], reply: true })])
      await customer.send()
      await waitUntil(() => ai.requests.length === 2)
      expect(await customer.sent()).to.deep.equal(['Once'])

      app.clock.advance(LEASE_MS)
      await enqueueDueCalls(app.system)
      await waitUntil(async () => (await customer.sent()).length === 2)
      answerFirst({ say: 'From the first' })
      await app.work()
      expect(await customer.sent()).to.deep.equal(['Once', 'From the second'])
      expect([(await customer.run()).status, ai.requests.length]).to.deep.equal(['completed', 3])
      const [request, result] = ai.requests[2]?.body.messages.slice(-2) ?? []
      expect(
        [request?.tool_calls?.length, result?.role],
        "messages end with the first worker's tool call",
      ).to.deep.equal([1, 'tool'])
    })

    it('fails without a retry when the provider rejects the request and redacts the API key', async () => {
      for (const status of [400, 401]) {
        ai.replyWith({ status, error: 'Incorrect key: canary-key-4711' })
        const customer = await runWorkflow([ask({ retry: RETRY })])
        const run = await customer.run()
        expect([run.error.code, run.steps[0].attempt]).to.deep.equal(['ai_refused', 1])
        expect(run.error.message).to.contain(`status ${status}: Incorrect key: [redacted]`)
      }
    })

    it('retries after invalid responses and fails with unreachable when no connection can be made', async () => {
      ai.replyWith({ raw: '<h1>Gateway</h1>' }, { raw: '{"choices":[]}' }, { say: 'Fine' })
      const customer = await runWorkflow([ask({ reply: true, retry: RETRY })])
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        expect((await customer.run()).steps[0].error.code).to.equal('invalid_ai_answer')
        app.clock.advance(10 * SECOND)
        await app.work()
      }
      expect(await customer.sent()).to.deep.equal(['Fine'])
      const unreachable = await createCustomerWithAi([ask()])
      await unreachable.call('PUT', '/ai-provider', { baseUrl: 'http://127.0.0.1:9/v1', model: 'm', apiKey: null })
      await unreachable.send()
      await app.work()
      expect((await unreachable.run()).error.code).to.equal('unreachable')
    })

    it('fails with timed_out after its timeout', async () => {
      ai.replyWith(new Promise(() => undefined))
      const customer = await runWorkflow([ask({ timeout: '1s' })])
      expect((await customer.run()).error.code).to.equal('timed_out')
    })
  })

  describe('without a provider', () => {
    it('causes the validation warning no_ai_provider and fails with that code', async () => {
      const customer = await Customer.create(app, [ask()])
      const definition = { version: 1, triggers: [{ type: 'manual' }], steps: [ask()] }
      const validate = async () => {
        const { errors, warnings } = await customer.call('POST', '/workflows/validate', { definition })
        return [...errors, ...warnings].map(({ code }: { code: string }) => code)
      }
      expect(await validate()).to.deep.equal(['no_ai_provider'])
      await customer.send()
      await app.work()
      expect((await customer.run()).error.code).to.equal('no_ai_provider')
      await configureProvider(customer)
      expect(await validate()).to.deep.equal([])
    })
  })

  it('is rejected by validation with the path of each invalid field', async () => {
    const customer = await createCustomerWithAi([say('hi', 'Hi')])
    const cases: [object, string][] = [
      [{ output: { type: 'string' } }, 'steps.0.output'],
      [{ output: { type: 'object', properties: { a: { type: 'colour' } } } }, 'steps.0.output'],
      [{ output: MOOD, reply: true }, 'steps.0.reply'],
      [{ tools: ['nowhere'] }, 'steps.0.tools.0'],
      [{ tools: ['time.now', 'time.now'] }, 'steps.0.tools'],
      [{ history: 101 }, 'steps.0.history'],
      [{ maxTurns: 0 }, 'steps.0.maxTurns'],
    ]
    for (const [fields, path] of cases) {
      const definition = { version: 1, triggers: [{ type: 'manual' }], steps: [ask(fields)] }
      const { errors } = await customer.call('POST', '/workflows/validate', { definition })
      expect(
        errors.map((error: { path: string }) => error.path),
        JSON.stringify(fields),
      ).to.deep.equal([path])
    }
  })
})
