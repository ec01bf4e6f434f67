import { expect } from 'chai'
import { claimCalls, LEASE_MS } from '../../../src/features/external-calls/call-queue.ts'
import { executeTool } from '../../../src/features/external-calls/executors.ts'
import { completeCall } from '../../../src/features/external-calls/execute-calls.ts'
import { advanceMailboxes } from '../../../src/features/execution/engine-port.ts'
import { DAY, SECOND } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { Customer } from '../../support/customer.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import { say } from '../../support/steps.ts'

const use = (tool: string, input: object = {}, rest: object = {}) => ({ id: 'use', type: 'tool', tool, input, ...rest })

/** Definition of a workspace tool that requests the price of an article from `url`. */
const quoteTool = (url: string, fields: object = {}) => ({
  name: 'shop.quote',
  title: 'Get a quote',
  description: 'Asks the shop for a price.',
  inputSchema: { type: 'object', properties: { article: { type: 'string' } }, required: ['article'] },
  outputSchema: { type: 'object', properties: { price: { type: 'number' } }, required: ['price'] },
  effect: 'read',
  config: { method: 'POST', url, headers: { 'X-Shop-Code': 'shop-code' } },
  ...fields,
})

describe('tool step', () => {
  let app: TestApp
  let server: ScriptedServer

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    server = await ScriptedServer.start()
  })

  after(async () => {
    await server.stop()
    await app.stop()
  })

  /** Publishes a workflow with the steps and processes one message of the customer. */
  async function runWorkflow(steps: object[], prepare?: (customer: Customer) => Promise<unknown>): Promise<Customer> {
    const customer = await Customer.create(app, steps, prepare)
    await customer.send()
    await app.work()
    return customer
  }

  const withQuote = (fields?: object) => (customer: Customer) =>
    customer.call('POST', '/tools', quoteTool(`${server.url}/quote`, fields))

  describe('with a workspace tool', () => {
    it('sends the input with the sealed headers and continues with the output', async () => {
      server.replyWith(json({ price: 12.5 }))
      const steps = [use('shop.quote', { article: '{{message.body}}' }), say('tell', '{{steps.use.output.price}} EUR')]
      const customer = await runWorkflow(steps, withQuote())
      expect(await customer.sent()).to.deep.equal(['12.5 EUR'])
      const run = await customer.run()
      expect(run.status).to.equal('completed')
      const [{ method, url, headers, body } = expect.fail('nothing was called')] = server.calls
      expect([method, url, JSON.parse(body)]).to.deep.equal(['POST', '/quote', { article: 'hello' }])
      expect(headers).to.include({ 'x-shop-code': 'shop-code', 'idempotency-key': `${run.id}:0` })
      expect(run.steps[0]).to.deep.include({
        type: 'tool',
        status: 'completed',
        input: { tool: 'shop.quote', input: { article: 'hello' } },
        output: { price: 12.5 },
      })
    })

    it('does not send configured headers that the HTTP client controls', async () => {
      server.replyWith(json({ price: 1 }))
      const headers = { 'Accept-Encoding': 'gzip', 'Proxy-Connection': 'close', 'X-Shop': 'main' }
      const config = { method: 'POST', url: `${server.url}/quote`, headers }
      await runWorkflow([use('shop.quote', { article: 'a' })], withQuote({ config }))
      const [call = expect.fail('nothing was called')] = server.calls
      expect(call.headers).to.include({ 'accept-encoding': 'identity', 'x-shop': 'main' })
      expect(call.headers).to.not.have.property('proxy-connection')
    })

    it('redacts a sealed key of an earlier version that the response repeats', async () => {
      server.replyWith((call, response) =>
        response.end(JSON.stringify({ price: 1, note: `Got ${call.headers.authorization}` })),
      )
      const customer = await runWorkflow([use('shop.quote', { article: 'a' })], async (one) => {
        const { id } = await withQuote()(one)
        const { tenantId } = one.workspace
        const sealed = app.system.secrets.seal({ Authorization: 'Bearer shop-key' }, `tool:${tenantId}:${id}`)
        await app.system.db('tools').where({ tenant_id: tenantId, id }).update({ sealed_headers: sealed })
      })
      const { steps } = await customer.run()
      expect(steps[0].output).to.deep.equal({ price: 1, note: 'Got Bearer [redacted]' })
    })

    it('does not send sealed headers to another host on a redirect, whatever their names', async () => {
      const redirectTarget = await ScriptedServer.start()
      try {
        redirectTarget.replyWith(json({ price: 1 }))
        server.replyWith((_, response) => response.writeHead(307, { location: `${redirectTarget.url}/quote` }).end())
        const config = { method: 'POST', url: `${server.url}/quote`, headers: { 'X-Shop': 'main' } }
        await runWorkflow([use('shop.quote', { article: 'a' })], withQuote({ config }))
        expect(server.calls.map(({ headers }) => headers['x-shop'])).to.deep.equal(['main'])
        expect(redirectTarget.calls.map(({ headers }) => headers['x-shop'])).to.deep.equal([undefined])
      } finally {
        await redirectTarget.stop()
      }
    })

    it('sends the input as query parameters with a GET request', async () => {
      server.replyWith(json({ price: 1 }))
      const get = withQuote({ config: { method: 'GET', url: `${server.url}/quote?shop=7` } })
      await runWorkflow([use('shop.quote', { article: 'a&b' })], get)
      expect(server.calls.map(({ url, body }) => [url, body])).to.deep.equal([['/quote?shop=7&article=a%26b', '']])
    })

    it('fails with invalid_tool_input before any request when the input does not match the schema', async () => {
      server.replyWith(json({ price: 1 }))
      const customer = await runWorkflow([use('shop.quote', { article: 7 }, { retry: { max: 3 } })], withQuote())
      const { error, steps } = await customer.run()
      expect([error.code, steps[0].attempt]).to.deep.equal(['invalid_tool_input', 1])
      expect(error.message).to.contain('input.article must be string')
      expect(server.calls).to.deep.equal([])
    })

    it('fails with invalid_tool_output when the response does not match the output schema', async () => {
      for (const output of [{ price: 'a lot' }, {}, []]) {
        server.replyWith(json(output))
        const customer = await runWorkflow([use('shop.quote', { article: 'a' })], withQuote())
        expect((await customer.run()).error.code).to.equal('invalid_tool_output')
      }
      server.replyWith((_, response) => response.end('<h1>Sorry</h1>'))
      const customer = await runWorkflow([use('shop.quote', { article: 'a' })], withQuote())
      expect((await customer.run()).error.code).to.equal('invalid_tool_output')
    })

    it('retries after status 503 and fails with tool_failed after status 403', async () => {
      server.replyWith(json({}, 503), json({ price: 3 }))
      const retry = { max: 2, backoff: 'fixed', delay: '10s' }
      const steps = [use('shop.quote', { article: 'a' }, { retry }), say('tell', '{{steps.use.output.price}}')]
      const customer = await runWorkflow(steps, withQuote())
      expect((await customer.run()).steps[0]).to.include({ status: 'waiting', attempt: 1 })
      app.clock.advance(10 * SECOND)
      await app.work()
      expect(await customer.sent()).to.deep.equal(['3'])
      server.replyWith(json({}, 403))
      const forbidden = await runWorkflow(steps, withQuote())
      const { error, steps: records } = await forbidden.run()
      expect([error.code, records[0].attempt]).to.deep.equal(['tool_failed', 1])
    })

    it('fails when the tool is disabled, deleted or owned by another workspace', async () => {
      const cases: [code: string, change: (customer: Customer, id: string) => Promise<unknown>][] = [
        ['tool_disabled', (customer, id) => customer.call('PATCH', `/tools/${id}`, { enabled: false })],
        ['unknown_tool', (customer, id) => customer.call('DELETE', `/tools/${id}`)],
        // Moves the row to another workspace.
        [
          'unknown_tool',
          async (_, id) => {
            const otherWorkspace = await app.signUp()
            await app.system.db('tools').where({ id }).update({ tenant_id: otherWorkspace.tenantId })
          },
        ],
      ]
      server.replyWith(json({ price: 1 }))
      for (const [code, change] of cases) {
        let id = ''
        const customer = await Customer.create(app, [use('shop.quote', { article: 'a' })], async (workspace) => {
          id = (await withQuote()(workspace)).id
        })
        await change(customer, id)
        await customer.send()
        await app.work()
        expect((await customer.run()).error.code).to.equal(code)
      }
      expect(server.calls).to.deep.equal([])
    })

    it('continues at the onError step when the tool fails', async () => {
      server.replyWith(json({}, 404))
      const steps = [
        use('shop.quote', { article: 'a' }, { onError: 'sorry', next: 'end' }),
        say('sorry', '{{steps.use.output.error.code}}'),
      ]
      expect(await (await runWorkflow(steps, withQuote())).sent()).to.deep.equal(['tool_failed'])
    })
  })

  describe('with a built-in tool', () => {
    const runTool = async (tool: string, input: object = {}) => {
      const customer = await runWorkflow([use(tool, input)])
      const { steps, error } = await customer.run()
      return { customer, output: steps[0].output, error }
    }

    it('contact.get returns the contact of the run by default', async () => {
      const { customer, output } = await runTool('contact.get')
      expect(output).to.deep.include({ id: customer.contactId, name: 'Ana', tags: [] })
    })

    it('contact.update changes the contact and rejects an invalid e-mail address', async () => {
      const changes = { name: 'Ana Maria', email: 'ana@parley.example', fields: { plan: 'pro' } }
      const { customer, output } = await runTool('contact.update', changes)
      expect(output).to.deep.include(changes)
      expect(await customer.contact()).to.deep.include(changes)
      const { error } = await runTool('contact.update', { email: 'nobody' })
      expect([error.code, error.message]).to.deep.equal(['invalid_tool_input', 'input.email must be an email address'])
    })

    it('contact.tag adds tags to the contact', async () => {
      const { customer, output } = await runTool('contact.tag', { tags: ['VIP', 'new'] })
      expect(output.tags).to.deep.equal(['new', 'VIP'])
      expect((await customer.contact()).tags.map(({ name }: { name: string }) => name)).to.deep.equal(['new', 'VIP'])
    })

    it('conversation.handoff pauses automation of the conversation', async () => {
      const { customer } = await runTool('conversation.handoff', { reason: 'asked for one' })
      expect((await customer.conversation()).automation).to.include({
        state: 'paused',
        reason: 'handoff',
        handoffReason: 'asked for one',
      })
    })

    it('conversation.close closes the conversation', async () => {
      const { customer } = await runTool('conversation.close')
      expect((await customer.conversation()).status).to.equal('closed')
    })

    it('message.send sends its message before the message of the next step', async () => {
      const customer = await runWorkflow([use('message.send', { body: 'One' }), say('two', 'Two')])
      expect(await customer.sent()).to.deep.equal(['One', 'Two'])
      const { id, steps } = await customer.run()
      const message = await app.system.db('messages').where({ id: steps[0].output.messageId }).first()
      expect(message).to.include({ run_id: id, step_id: 'use', body: 'One' })
    })

    it('message.send fails with outside_window after the service window has closed', async () => {
      const customer = await Customer.create(app, [
        { id: 'rest', type: 'wait', for: '24h' },
        use('message.send', { body: 'Late' }),
      ])
      await customer.send()
      await app.work()
      app.clock.advance(DAY)
      await app.work()
      expect((await customer.run()).error.code).to.equal('outside_window')
      expect(await customer.sent()).to.deep.equal([])
    })

    it('time.now returns the time in the given time zone and rejects an unknown one', async () => {
      const now = app.clock.now()
      expect((await runTool('time.now')).output).to.deep.equal({ now: now.toISOString() })
      const { output } = await runTool('time.now', { timezone: 'America/Sao_Paulo' })
      expect(output.now).to.match(/-03:00$/)
      expect(Date.parse(output.now)).to.equal(now.getTime())
      expect((await runTool('time.now', { timezone: 'Mars/Base' })).error.code).to.equal('invalid_tool_input')
    })

    it('http.request returns the response of any status and rejects a private address', async () => {
      server.replyWith(json({ a: 1 }, 404))
      const input = { method: 'POST', url: `${server.url}/x`, headers: { 'X-A': 'b', Host: 'other' }, json: { q: 1 } }
      expect((await runTool('http.request', input)).output).to.deep.equal({ status: 404, json: { a: 1 } })
      const [{ headers, body } = expect.fail('nothing was called')] = server.calls
      expect([headers['x-a'], headers.host, JSON.parse(body)]).to.deep.equal(['b', new URL(server.url).host, { q: 1 }])
      const { error } = await runTool('http.request', { url: 'http://169.254.169.254/latest' })
      expect(error.code).to.equal('host_refused')
    })

    it('fails with not_found for a contact or conversation of another workspace', async () => {
      const otherWorkspace = await Customer.create(app, [say('hi', 'Hi')])
      await otherWorkspace.send()
      await app.work()
      const conversationId = (await otherWorkspace.conversation()).id
      const { contactId } = otherWorkspace
      const calls: [string, object][] = [
        ['contact.get', { contactId }],
        ['contact.update', { contactId, name: 'Taken over' }],
        ['contact.tag', { contactId, tags: ['t'] }],
        ['conversation.handoff', { conversationId }],
        ['conversation.close', { conversationId }],
        ['message.send', { conversationId, body: 'Boo' }],
      ]
      for (const [tool, input] of calls) expect((await runTool(tool, input)).error.code, tool).to.equal('not_found')
      expect(await otherWorkspace.contact()).to.deep.include({ name: 'Ana', tags: [] })
      expect(await otherWorkspace.conversation()).to.deep.include({ status: 'active', id: conversationId })
      expect(await otherWorkspace.sent()).to.deep.equal(['Hi'])
    })
  })
})

describe('tool step with a built-in tool after a worker crash', () => {
  let app: TestApp

  before(async () => {
    // The app runs no worker; the test does each piece of work itself.
    app = await startTestApp({ ROLES: 'http' })
  })

  after(() => app.stop())

  it('applies its change once, in the transaction that stores its result', async () => {
    const customer = await Customer.create(app, [use('message.send', { body: 'Once' })])
    const { scope } = customer
    const advance = () => advanceMailboxes(app.system, { tenantId: scope.tenantId })
    const claim = async () => (await claimCalls(scope, 1))[0] ?? expect.fail('nothing to claim')
    const executeCall = (effect: Awaited<ReturnType<typeof claim>>) =>
      executeTool(scope, effect, new AbortController().signal)
    await customer.send()
    await advance()

    const first = await claim()
    const lost = await executeCall(first)
    expect(await customer.sent(), 'before the result is stored').to.deep.equal([])
    const killed = scope.transaction(async (tx) => {
      await completeCall(tx, first, lost)
      throw new Error('killed before the commit')
    })
    expect(await killed.catch((error: Error) => error.message)).to.equal('killed before the commit')
    expect(await customer.sent()).to.deep.equal([])

    app.clock.advance(LEASE_MS)
    const second = await claim()
    expect(await completeCall(scope, second, await executeCall(second))).to.equal(true)
    expect(await completeCall(scope, first, lost), 'result of the first claim').to.equal(false)
    await advance()
    expect([(await customer.run()).status, await customer.sent()]).to.deep.equal(['completed', ['Once']])
  })
})
