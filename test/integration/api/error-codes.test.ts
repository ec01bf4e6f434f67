import { expect } from 'chai'
import { startTestApp, type RequestOptions, type TestApp, type TestSession } from '../../support/app.ts'

/** The parts of an error that a program reads. REST bodies carry no JSON-RPC number. */
type Seen = { status: number; code: string | undefined; number?: number | undefined }

const MISSING_ID = '0199a7a0-0000-7000-8000-00000000ffff'
const LARGE = JSON.stringify({ json: { name: 'x'.repeat(1_100_000) }, name: 'x'.repeat(1_100_000) })
const FOREIGN = { origin: 'https://other.example' }
const LOCKED = '10.250.0.2'
const TEXT = { 'content-type': 'text/plain' }

describe('error codes', () => {
  let app: TestApp
  let owner: TestSession
  let viewer: TestSession
  let page: string

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
    viewer = await app.join(owner.tenantId, 'viewer')
    page = (await app.rest('GET', '/docs/errors')).body
  })

  after(() => app.stop())

  const get = (path: string, input: object) => `/api/trpc/${path}?input=${encodeURIComponent(JSON.stringify(input))}`

  async function callRest(method: string, path: string, call: RequestOptions): Promise<Seen> {
    const { status, body } = await app.rest(method, path, call)
    assertExplained(body.code, body.docUrl)
    return { status, code: body.code }
  }

  async function callTrpc(method: string, path: string, call: RequestOptions): Promise<Seen> {
    const { status, body } = await app.rest(method, path, call)
    const { error } = Array.isArray(body) ? body[0] : body
    const { code, data } = error.json
    expect(data.httpStatus, path).to.equal(status)
    const own = /[A-Z]/.test(data.code) ? undefined : data.code
    assertExplained(own, data.docUrl)
    return { status, code: own, number: code }
  }

  /** Asserts that an error with a code, and no other one, has the address of the explanation on the page of errors. */
  function assertExplained(code: string | undefined, docUrl: unknown): void {
    expect(docUrl).to.equal(code === undefined ? undefined : `/docs/errors#${code}`)
    if (code !== undefined) expect(page).to.include(`<h3 id="${code}">`)
  }

  /** Asserts that every way of reaching an error gives the same status, code and JSON-RPC number. */
  async function assertSame(expected: Seen, calls: [method: string, path: string, call: RequestOptions][]) {
    const { number: _, ...expectedByRest } = expected
    for (const [method, path, call] of calls) {
      const isTrpc = path.startsWith('/api/trpc/')
      const seen = await (isTrpc ? callTrpc : callRest)(method, path, call)
      expect(seen, `${method} ${path}`).to.deep.equal(isTrpc ? expected : expectedByRest)
    }
  }

  it('a call without a session is 401 and -32001 by REST, by tRPC and in a batch', () =>
    assertSame({ status: 401, code: undefined, number: -32001 }, [
      ['GET', '/api/contacts', {}],
      ['GET', get('contacts.list', { json: {} }), {}],
      ['GET', `${get('contacts.list,contacts.list', { 0: { json: {} }, 1: { json: {} } })}&batch=1`, {}],
    ]))

  it('a call without the right is 403 and -32003, rejected by the procedure or by the origin check before it', () =>
    assertSame({ status: 403, code: undefined, number: -32003 }, [
      ['POST', '/api/contacts', { session: viewer, body: { name: 'Ana' } }],
      ['POST', '/api/trpc/contacts.create', { session: viewer, body: { json: { name: 'Ana' } } }],
      ['POST', '/api/trpc/contacts.create?batch=1', { session: viewer, body: { 0: { json: { name: 'Ana' } } } }],
      ['POST', '/api/contacts', { session: owner, body: {}, headers: FOREIGN }],
      ['POST', '/api/trpc/contacts.create', { session: owner, body: { json: {} }, headers: FOREIGN }],
    ]))

  it('a missing row and an unknown path are 404 and -32004', () =>
    assertSame({ status: 404, code: 'not_found', number: -32004 }, [
      ['GET', `/api/contacts/${MISSING_ID}`, { session: owner }],
      ['GET', get('contacts.get', { json: { contactId: MISSING_ID } }), { session: owner }],
      ['GET', `${get('contacts.get', { 0: { json: { contactId: MISSING_ID } } })}&batch=1`, { session: owner }],
      ['GET', '/api/nothing', { session: owner }],
      ['GET', '/api/trpc/nothing', { session: owner }],
      ['GET', '/api/trpc/%2e', { session: owner }],
    ]))

  it('an invalid input is 400 and -32600', () =>
    assertSame({ status: 400, code: 'invalid_pagination', number: -32600 }, [
      ['GET', '/api/contacts?limit=0', { session: owner }],
      ['GET', get('contacts.list', { json: { limit: 0 } }), { session: owner }],
      ['GET', `${get('contacts.list', { 0: { json: { limit: 0 } } })}&batch=1`, { session: owner }],
    ]))

  it('an idempotency key in a batch is rejected with the code of an invalid input', () =>
    assertSame({ status: 400, code: 'validation_failed', number: -32600 }, [
      ['POST', '/api/contacts', { session: owner, body: { phone: 'x' } }],
      [
        'POST',
        '/api/trpc/contacts.create,contacts.create?batch=1',
        { session: owner, body: {}, headers: { 'idempotency-key': 'k' } },
      ],
    ]))

  it('a conflict is 409 and -32009', async () => {
    const phone = '+4915100007001'
    const created = await app.rest('POST', '/api/contacts', { session: owner, body: { name: 'Ana', phone } })
    expect(created.status).to.equal(201)
    const { body } = await app.rest('POST', '/api/contacts', { session: owner, body: { name: 'Ana', phone } })
    await assertSame({ status: 409, code: body.code, number: -32009 }, [
      ['POST', '/api/contacts', { session: owner, body: { name: 'Ana', phone } }],
      ['POST', '/api/trpc/contacts.create', { session: owner, body: { json: { name: 'Ana', phone } } }],
      ['POST', '/api/trpc/contacts.create?batch=1', { session: owner, body: { 0: { json: { name: 'Ana', phone } } } }],
    ])
  })

  it('a wrong password is 401 and -32001', () => {
    const input = { email: 'nobody@parley.example', password: 'wrong-password' }
    return assertSame({ status: 401, code: 'invalid_email_or_password', number: -32001 }, [
      ['POST', '/api/auth/sign-in/email', { body: input }],
      ['POST', '/api/trpc/auth.signIn', { body: { json: input } }],
    ])
  })

  it('a broken rule is 422 and -32022', async () => {
    const created = await app.rest('POST', '/api/contacts', {
      session: owner,
      body: { name: 'Ana', phone: '+4915100007002' },
    })
    const to = { contactId: created.body.id }
    await app.rest('PATCH', `/api/contacts/${to.contactId}`, { session: owner, body: { blocked: true } })
    await assertSame({ status: 422, code: 'contact_blocked', number: -32022 }, [
      ['POST', '/api/messages', { session: owner, body: { to, body: 'Hello' } }],
      ['POST', '/api/trpc/messages.send', { session: owner, body: { json: { to, body: 'Hello' } } }],
    ])
  })

  it('a limit with a code of its own is 429 and -32029', async () => {
    const email = 'locked@parley.example'
    const attempt = (password: string) =>
      app.rest('POST', '/api/auth/sign-in/email', {
        body: { email, password },
        headers: { 'x-forwarded-for': LOCKED },
      })
    for (let n = 0; n < 5; n += 1) await attempt(`wrong-${n}`)
    await app.system.db('rate_limits').where('key', 'like', 'signIn:%').delete()
    const headers = { 'x-forwarded-for': LOCKED }
    const input = { email, password: 'wrong' }
    await assertSame({ status: 429, code: 'account_locked', number: -32029 }, [
      ['POST', '/api/auth/sign-in/email', { body: input, headers }],
      ['POST', '/api/trpc/auth.signIn', { body: { json: input }, headers }],
    ])
  })

  it('a body that is not JSON is 400 and -32700', () =>
    assertSame({ status: 400, code: 'invalid_json', number: -32700 }, [
      ['POST', '/api/contacts', { session: owner, body: '{"name":' }],
      ['POST', '/api/trpc/contacts.create', { session: owner, body: '{"json":' }],
      ['POST', '/api/trpc/contacts.create?batch=1', { session: owner, body: '{"0":' }],
    ]))

  it('a body that is not JSON gets an error that states the character where it breaks off, or that it ends too early', async () => {
    const outcomes = [
      ['{"name": "Ana",}', 'The request body is not valid JSON. The error is at character 16'],
      ['{"name": "Ana"', 'The request body is not valid JSON. The error is at character 15'],
      ['{"name":', 'The request body is not valid JSON. It ends too early'],
    ] as const
    for (const [body, error] of outcomes) {
      expect((await app.rest('POST', '/api/contacts', { session: owner, body })).body).to.include({ error })
    }
  })

  it('an unknown field or query parameter gets an error with the name that it may stand for', async () => {
    const listed = await app.rest('GET', '/api/contacts?limt=10', { session: owner })
    expect(listed.body.error).to.equal('limt is not a field of this request. Did you mean limit?')
    const created = await app.rest('POST', '/api/contacts', {
      session: owner,
      body: { name: 'Ana', fone: '1', zebra: 1 },
    })
    expect(created.body.details).to.deep.include({
      path: 'fone',
      message: 'is not a field of this request. Did you mean phone?',
    })
    expect(created.body.details).to.deep.include({ path: 'zebra', message: 'is not a field of this request' })
  })

  it('a body over the limit is 413 and -32013', () =>
    assertSame({ status: 413, code: 'body_too_large', number: -32013 }, [
      ['POST', '/api/contacts', { session: owner, body: LARGE }],
      ['POST', '/api/trpc/contacts.create', { session: owner, body: LARGE }],
    ]))

  it('a body over 16 KB of an auth call is 413 by REST and natively', async () => {
    const password = 'x'.repeat(17 * 1024)
    const input = { email: 'ada@parley.example', password }
    await assertSame({ status: 413, code: 'body_too_large', number: -32013 }, [
      ['POST', '/api/auth/sign-in/email', { body: input }],
      ['POST', '/api/trpc/auth.signIn', { body: { json: input } }],
    ])
  })

  it('a body of another media type is 415 and -32015', () =>
    assertSame({ status: 415, code: 'unsupported_media_type', number: -32015 }, [
      ['POST', '/api/contacts', { session: owner, body: 'name=x', headers: TEXT }],
      ['POST', '/api/trpc/contacts.create', { session: owner, body: 'name=x', headers: TEXT }],
    ]))

  it('a body that is compressed, or in another character set, is 415 by REST and natively', async () => {
    for (const headers of [
      { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      { 'content-type': 'application/json; charset=utf-16' },
    ] as Record<string, string>[]) {
      await assertSame({ status: 415, code: 'unsupported_media_type', number: -32015 }, [
        ['POST', '/api/contacts', { session: owner, body: '{"name":"Ana"}', headers }],
        ['POST', '/api/trpc/contacts.create', { session: owner, body: '{"json":{"name":"Ana"}}', headers }],
      ])
    }
  })

  it('a method that the path does not take is 405 and -32005', () =>
    assertSame({ status: 405, code: 'method_not_allowed', number: -32005 }, [
      ['DELETE', '/api/contacts', { session: owner }],
      ['GET', get('contacts.create', { json: {} }), { session: owner }],
      ['GET', `${get('contacts.create', { 0: { json: {} } })}&batch=1`, { session: owner }],
    ]))

  it('an exceeded rate limit is 429 and -32029, with the seconds to wait', async () => {
    const headers = { 'x-forwarded-for': '10.250.0.1' }
    for (let n = 0; n < 3; n += 1) {
      await app.rest('POST', '/api/auth/forget-password', { body: { email: 'a@b.example' }, headers })
    }
    const body = { email: 'a@b.example' }
    await assertSame({ status: 429, code: undefined, number: -32029 }, [
      ['POST', '/api/auth/forget-password', { body, headers }],
      ['POST', '/api/trpc/auth.forgetPassword', { body: { json: body }, headers }],
      ['POST', '/api/trpc/auth.forgetPassword?batch=1', { body: { 0: { json: body } }, headers }],
    ])
    const trpc = await app.rest('POST', '/api/trpc/auth.forgetPassword', { body: { json: body }, headers })
    expect(Number(trpc.headers.get('retry-after'))).to.be.greaterThan(0)
  })
})
