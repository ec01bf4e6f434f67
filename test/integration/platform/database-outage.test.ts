import { expect } from 'chai'
import pg from 'pg'
import { buildChannel, buildContact, buildWorkspace } from '../../factories.ts'
import { type ApiResponse, newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { WebhookCaller, type WebhookWithSecret } from '../../support/webhook-caller.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const input = (json: object) => encodeURIComponent(JSON.stringify({ json }))

describe('while the database', function () {
  this.timeout(60_000)
  let app: TestApp
  let proxy: TcpProxy
  let workspace: WorkspaceClient
  let contactId: string
  let channelPath: string
  let caller: WebhookCaller
  let webhook: WebhookWithSecret

  before(async () => {
    app = await startTestApp(async (databaseUrl) => {
      proxy = await TcpProxy.start(databaseUrl)
      return { DATABASE_URL: proxy.through(databaseUrl) }
    })
    workspace = await buildWorkspace(app)
    contactId = (await buildContact(workspace)).id
    channelPath = (await buildChannel(workspace)).webhookPath
    caller = new WebhookCaller(app, workspace)
    webhook = await caller.publishWithSecret()
  })

  after(async () => {
    await app.stop()
    proxy.stop()
  })

  const isReady = async () => (await app.rest('GET', '/readyz')).status === 200
  const reason = async (): Promise<unknown> => (await app.rest('GET', '/readyz')).body.reason
  const signIn = { email: 'ana@example.com', password: 'correct horse battery' }
  const unknownSession = () => ({ cookie: `session_token=${'a'.repeat(43)}` })

  /** Every way into the server, with the status while the database works. */
  const calls: [name: string, status: number, call: () => Promise<ApiResponse>][] = [
    ['a read by REST', 200, () => workspace.request('GET', `/api/contacts/${contactId}`)],
    ['a change by REST', 200, () => workspace.request('PATCH', `/api/contacts/${contactId}`, { name: 'Ana' })],
    [
      'a change with an idempotency key',
      201,
      () => workspace.request('POST', '/api/tags', { name: newAddress() }, { 'idempotency-key': newAddress() }),
    ],
    ['a session that is not cached', 401, () => app.rest('GET', '/api/contacts', { headers: unknownSession() })],
    ['a native tRPC call', 200, () => workspace.request('GET', `/api/trpc/contacts.get?input=${input({ contactId })}`)],
    [
      'a native tRPC call of an uncached session',
      401,
      () => app.rest('GET', `/api/trpc/contacts.get?input=${input({ contactId })}`, { headers: unknownSession() }),
    ],
    ['sign-in by REST', 401, () => app.rest('POST', '/api/auth/sign-in/email', { body: signIn })],
    ['sign-in by tRPC', 401, () => app.rest('POST', '/api/trpc/auth.signIn', { body: { json: signIn } })],
    [
      'sign-up',
      200,
      () =>
        app.rest('POST', '/api/auth/sign-up/email', {
          body: { ...signIn, name: 'Ana', email: `${newAddress()}@example.com` },
        }),
    ],
    ['a workflow webhook', 202, () => caller.callSigned(webhook, {})],
  ]

  function assertUnavailable({ status, headers, body }: ApiResponse, name: string): void {
    expect(status, `${name}: ${JSON.stringify(body)}`).to.equal(503)
    expect(Number(headers.get('retry-after')), name).to.be.within(1, 60)
    expect(body.error.json?.data.code ?? body.code, name).to.equal('unavailable')
  }

  /** Opens a subscription and returns the text of its first item. */
  async function openSubscription(cookie: string): Promise<string> {
    const connection = new AbortController()
    const response = await fetch(`${app.url}/api/trpc/events.follow?input=${input({})}`, {
      headers: { accept: 'text/event-stream', cookie, 'x-tenant-id': workspace.tenantId },
      signal: connection.signal,
    })
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk)
      if (/"ready"|UNAVAILABLE/.test(text)) break
    }
    connection.abort()
    return text
  }

  it('works, all ways into the server are open', async () => {
    for (const [name, status, call] of calls) expect((await call()).status, name).to.equal(status)
    expect(await openSubscription(workspace.cookie)).to.include('ready')
    expect(await isReady()).to.equal(true)
  })

  describe('is stopped', () => {
    before(() => proxy.refuse())
    after(async () => {
      await proxy.accept()
      await waitUntil(isReady)
    })

    for (const [name, , call] of calls) {
      it(`${name} returns 503 with Retry-After`, async () => assertUnavailable(await call(), name))
    }

    it('a webhook of a provider returns 503 with Retry-After', async () => {
      assertUnavailable(await app.rest('POST', channelPath, { body: {} }), 'webhook')
    })

    for (const [name, cookie] of [
      ['a cached session', () => workspace.cookie],
      ['a session that is not cached', () => unknownSession().cookie],
    ] as const) {
      // An EventSource gives up after a status of 503; after this error tRPC clients reconnect.
      it(`a subscription of ${name} ends with an error after which clients reconnect`, async () => {
        const text = await openSubscription(cookie())
        expect(text).to.include('event: serialized-error').and.include('"code":-32603,').and.include('"unavailable"')
      })
    }

    it('GET /readyz returns 503 and GET /healthz 200', async () => {
      await waitUntil(async () => (await reason()) === 'database unreachable')
      expect((await app.rest('GET', '/healthz')).status).to.equal(200)
    })
  })

  describe('is read-only', () => {
    let admin: pg.Client

    before(async () => {
      admin = new pg.Client({ connectionString: app.databaseUrl })
      await admin.connect()
      await setReadOnly(true)
    })

    after(async () => {
      await setReadOnly(false)
      await admin.end()
      await waitUntil(isReady)
    })

    /** Applies to new connections, so the others are closed. */
    async function setReadOnly(value: boolean): Promise<void> {
      const name = new URL(app.databaseUrl).pathname.slice(1)
      await admin.query('set default_transaction_read_only = off')
      await admin.query(`alter database ${name} set default_transaction_read_only = ${value ? 'on' : 'off'}`)
      await admin.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
        [name],
      )
    }

    it('GET /readyz returns 503 with the reason', async () => {
      await waitUntil(async () => (await reason()) === 'database is read-only')
    })

    it('changes return 503 with Retry-After, and reads succeed', async () => {
      const path = `/api/contacts/${contactId}`
      await waitUntil(async () => (await workspace.request('GET', path)).status === 200)
      assertUnavailable(await workspace.request('PATCH', path, { name: 'Ana' }), 'change')
      assertUnavailable(await caller.callSigned(webhook, {}), 'webhook')
    })
  })

  it('works again, the same process serves all ways into the server', async () => {
    for (const [name, status, call] of calls) expect((await call()).status, name).to.equal(status)
    expect(await openSubscription(workspace.cookie)).to.include('ready')
  })
})
