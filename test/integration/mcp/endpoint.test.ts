import { expect } from 'chai'
import { MINUTE } from '../../../src/platform/time.ts'
import { buildChannel, buildContact, buildCredential, buildWorkspace } from '../../factories.ts'
import { type ApiResponse, newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { connectAssistant, createKey } from '../../support/assistants.ts'
import { BlockedReads } from '../../support/blocked-reads.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ACCEPT = 'application/json, text/event-stream'
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

describe('POST /mcp', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let key: string

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
    key = (await createKey(workspace, { scopes: ['full'] })).key
  })
  after(() => app.stop())

  function post(body: unknown, headers: Record<string, string> = {}, secret = key): Promise<ApiResponse> {
    return app.rest('POST', '/mcp', {
      body,
      headers: { accept: ACCEPT, authorization: `Bearer ${secret}`, ...headers },
    })
  }

  it('answers 401 without a key, with one that is unknown, expired or revoked, and with a cookie only', async () => {
    const expiring = await createKey(workspace, {
      scopes: ['full'],
      expiresAt: new Date(app.clock.now().getTime() + 5 * MINUTE).toISOString(),
    })
    const revoked = await createKey(workspace, { scopes: ['full'] })
    expect((await post(LIST, {}, expiring.key)).status).to.equal(200)
    app.clock.advance(6 * MINUTE)
    await workspace.call('DELETE', `/api/api-keys/${revoked.id}`)
    for (const secret of ['prl_unknown', expiring.key, revoked.key]) {
      const { status, headers } = await post(LIST, {}, secret)
      expect(status).to.equal(401)
      expect(headers.get('www-authenticate')).to.match(/^Bearer error="invalid_token"/)
    }
    const withCookie = await app.rest('POST', '/mcp', { body: LIST, session: workspace, headers: { accept: ACCEPT } })
    expect(withCookie.status).to.equal(401)
    expect(withCookie.headers.get('www-authenticate')).to.equal('Bearer')
  })

  it('answers 403 for another workspace than that of the key, and for a page of a foreign origin', async () => {
    const other = await buildWorkspace(app)
    expect((await post(LIST, { 'x-tenant-id': other.tenantId })).status).to.equal(403)
    expect((await post(LIST, { origin: 'https://evil.example' })).status).to.equal(403)
    expect((await post(LIST, { origin: app.url })).status).to.equal(200)
  })

  it('answers 413 for a body of more than 1 MB, and does not read one without a key', async () => {
    const giant = JSON.stringify({ ...LIST, params: { text: 'x'.repeat(1024 * 1024) } })
    expect((await post(giant)).status).to.equal(413)
    const { status } = await app.rest('POST', '/mcp', { body: giant, headers: { accept: ACCEPT } })
    expect(status).to.equal(401)
  })

  it('answers what is no message with the errors of JSON-RPC', async () => {
    const cases: [body: unknown, status: number, code: number][] = [
      ['{"jsonrpc": ', 400, -32_700],
      [[LIST, { ...LIST, id: 2 }], 400, -32_600],
      [[], 400, -32_600],
      [{ ...LIST, method: 'no/such' }, 200, -32_601],
    ]
    for (const [body, status, code] of cases) {
      const answer = await post(body)
      const text =
        typeof answer.body === 'string' ? answer.body.replace(/^[^]*data: /, '') : JSON.stringify(answer.body)
      expect({ status: answer.status, code: JSON.parse(text).error.code }, JSON.stringify(body)).to.deep.equal({
        status,
        code,
      })
    }
    for (const body of [{}, { jsonrpc: '1.0', id: 1, method: 'tools/list' }, '7', 'null']) {
      const { status } = await post(body)
      expect(status, JSON.stringify(body)).to.equal(400)
    }
  })

  it('answers 400 for a message that is nested too deeply, 415 for a form, 405 for GET and DELETE', async () => {
    const deep = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${'['.repeat(100)}${']'.repeat(100)}}`
    expect((await post(deep)).body.code).to.equal('input_too_complex')
    const form = await post('a=b', { 'content-type': 'application/x-www-form-urlencoded' })
    expect(form.status).to.equal(415)
    for (const method of ['GET', 'DELETE']) {
      const answer = await app.rest(method, '/mcp', { headers: { authorization: `Bearer ${key}` } })
      expect(answer.status).to.equal(405)
      expect(answer.headers.get('allow')).to.equal('POST')
    }
  })

  it('answers no call with an internal error, whatever its arguments are', async () => {
    const values = ['__proto__', '', 'x'.repeat(5000), '\u0000\ud800', -1, 1e300, null, {}, [[[[]]]]]
    const { body } = await post(LIST)
    const listed: { name: string; inputSchema: { properties: object } }[] = JSON.parse(
      String(body).replace(/^[^]*data: /, ''),
    ).result.tools
    const { key: secret } = await createKey(workspace, { scopes: ['full'], limitPerMinute: 10_000 })
    for (const { name, inputSchema } of listed) {
      const fields = Object.keys(inputSchema.properties)
      const inputs = [null, [], 'x', ...fields.flatMap((field) => values.map((value) => ({ [field]: value })))]
      if (name === 'call_operation')
        inputs.push({ operationId: 'tags.create', params: { name: 'x' }, confirm: 'NaN.a.b.c' })
      const answers = inputs.map(async (input) => {
        const answer = await post({ ...LIST, method: 'tools/call', params: { name, arguments: input } }, {}, secret)
        const text = JSON.stringify([name, input, answer.body])
        expect(answer.status, text).to.be.lessThan(500)
        expect(text).to.not.match(/Something went wrong|Internal/)
      })
      await Promise.all(answers)
    }
  })

  it('answers 202 for a notification', async () => {
    const { status, body } = await post({ jsonrpc: '2.0', method: 'notifications/initialized' })
    expect({ status, body }).to.deep.equal({ status: 202, body: '' })
  })

  it('opens no stream of subscriptions', async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const body = {
      ...LIST,
      method: 'subscriptions/listen',
      params: { _meta: meta, notifications: { toolsListChanged: true } },
    }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' }
    const { body: answer } = await post(body, headers)
    expect(answer.error.message).to.include('limit')
  })

  it('charges one call of the key for each message, and answers 429 beyond its limit', async () => {
    const limited = await createKey(workspace, { scopes: ['read_only'], limitPerMinute: 3 })
    const statuses: number[] = []
    for (let count = 0; count < 4; count += 1) {
      const { status, headers } = await post(LIST, {}, limited.key)
      statuses.push(status)
      if (status === 200) expect(headers.get('ratelimit-remaining')).to.equal(String(2 - count))
      else expect(Number(headers.get('retry-after'))).to.be.greaterThan(0)
    }
    expect(statuses).to.deep.equal([200, 200, 200, 429])
  })

  it('cancels the statement of a client that leaves, and serves the next one', async () => {
    const own = await buildWorkspace(app)
    await buildContact(own)
    const { key: secret } = await createKey(own, { scopes: ['read_only'] })
    const blocked = await BlockedReads.start(app.databaseUrl, own.tenantId)
    try {
      const left = new AbortController()
      const params = { name: 'find_contacts', arguments: {} }
      const call = fetch(`${app.url}/mcp`, {
        method: 'POST',
        signal: left.signal,
        headers: {
          accept: ACCEPT,
          'content-type': 'application/json',
          authorization: `Bearer ${secret}`,
          'x-forwarded-for': newAddress(),
        },
        body: JSON.stringify({ ...LIST, method: 'tools/call', params }),
      }).catch((error: Error) => error.name)
      await blocked.waitForCount(1)
      left.abort()
      expect(await call).to.equal('AbortError')
      await blocked.waitForCount(0)
    } finally {
      await blocked.release()
    }
    await waitUntil(async () => (await post({ ...LIST, method: 'ping' }, {}, secret)).status === 200)
  })

  it('ignores an Idempotency-Key, which would be that of every procedure of a tool', async () => {
    const own = await buildWorkspace(app)
    const { key: secret } = await createKey(own, { scopes: ['full'] })
    const params = { name: 'save_draft', arguments: { name: 'Draft' } }
    const body = { ...LIST, method: 'tools/call', params }
    for (let count = 0; count < 2; count += 1) {
      expect((await post(body, { 'idempotency-key': 'same' }, secret)).headers.has('idempotency-replayed')).to.equal(
        false,
      )
    }
    const { items } = await own.call('GET', '/api/workflows')
    expect(items).to.have.length(2)
  })

  it('answers with no secret of a connection', async () => {
    await buildChannel(workspace, { accessToken: 'canary-access-token', verifyToken: 'canary-verify-token' })
    await buildCredential(workspace)
    const assistant = await connectAssistant(app.url, key)
    for (const operationId of ['channels.list', 'credentials.list', 'apiKeys.list', 'tools.list', 'aiProvider.get']) {
      const answer = await assistant.call('call_operation', { operationId })
      expect(answer.text, operationId).to.not.match(/canary|prl_/)
    }
    await assistant.close()
  })
})
